// Package websocket is the server side of the reliable channel over ws and wss
// (realtime.md 1, 2 and 12). A [Listener] accepts sockets, answers the opening
// handshake and makes a [Conn] for each socket. The transport.Acceptor interprets
// the packets.
//
// # No library
//
// A request in the form that clients send is parsed in place (usual.go). Any other request is parsed by net/http,
// within limits of time and size. Hijacking a connection from net/http's server would leave 8 KiB of garbage for each.
// The readers of WebSocket libraries allocate for every message, and some reserve the length that a frame claims. Their
// asynchronous writers have unbounded queues. Here an inbound message costs no allocation, memory grows only with bytes
// that have arrived, and output stays in the wire.Source until the kernel accepts it.
//
// # Goroutines
//
// An idle connection has one goroutine, its reader, which also calls the Acceptor and the Handler. A writer
// goroutine exists only in three cases: while a peer reads more slowly than the host sends, while a connection is
// being closed, and during writes on connections without non-blocking writes (TLS, and systems other than Linux).
// The handshake has its own goroutine, which ends with it.
//
// # Reading and writing
//
// The size of a message and the number of its frames are limited, with a lower size limit before the login. Small
// messages are passed on from the read buffer. Others are assembled in pooled buffers that grow with the bytes that
// have arrived. Flush drains the source into a pooled buffer of 32 KiB and passes it to the kernel in one system call.
// If the kernel does not accept all of it, the writer goroutine writes the rest. So a stalled peer occupies at most one
// buffer. At most one pong and one ping are pending.
//
// # Ending
//
// A close frame 1000 from the peer is a leave. Every other end is a loss (reliability.md 2.1). The official C# client
// leaves with 1000. The TypeScript client calls a browser's close() without arguments, which sends a close frame
// without a code; Options.EmptyCloseIsLeave makes that a leave. Closing the page sends 1001. Once the host has begun to
// close, nothing that the peer sends counts as a leave: End.ByHost has the reason.
//
// # What it does not do
//
// It starts no pings and has no login timeout, idle timeout or rate limits. Those belong
// to the layer above, which also makes allowance for pauses of the host itself. It offers
// no compression and no sub-protocol, and ignores Origin.
package websocket
