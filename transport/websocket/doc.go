// Package websocket is the server side of the reliable channel over ws and wss
// (realtime.md 1, 2 and 12). A [Listener] accepts sockets, answers the opening
// handshake and makes a [Conn] of each. The transport.Acceptor that it serves interprets
// the packets.
//
// # No library
//
// A request as clients send it is parsed in place (usual.go), any other by net/http, within limits of
// time and size. A connection hijacked from net/http's server would leave 8 KiB of garbage. The readers of
// WebSocket libraries allocate for every message, and some reserve the length that a frame claims; their
// asynchronous writers queue without bound. Here an inbound message costs no allocation, memory grows only
// with bytes that have arrived, and output stays in the wire.Source until the kernel takes it.
//
// # Goroutines
//
// An idle connection has one goroutine, its reader, which also calls the Acceptor and the Handler. A writer
// goroutine exists only while a peer reads more slowly than the host sends, while a connection is being
// closed, and during writes on connections without non-blocking writes (TLS, and systems other than Linux).
// The handshake has a goroutine, which ends with it.
//
// # Reading and writing
//
// The size of a message and the number of its frames are limited, with a lower limit before the login. Small
// messages are handed on from the read buffer; others are assembled in pooled buffers that grow with the
// bytes that have arrived. Flush drains the source into a pooled buffer of 32 KiB and hands it to the kernel
// in one system call; the rest is the writer goroutine's, so a stalled peer holds one buffer at most. At most
// one pong and one ping are pending.
//
// # Ending
//
// A close frame 1000 from the peer is a leave. Every other end is a loss (reliability.md 2.1). The official
// C# client leaves with 1000. The TypeScript client uses a browser's close() without arguments, which sends a
// close frame without a code; Options.EmptyCloseIsLeave makes it a leave. Closing the page sends 1001. After
// the host began to close, nothing that the peer sends counts as a leave: End.ByHost has the reason.
//
// # What it does not do
//
// It starts no pings and has no login timeout, idle timeout or rate limits. Those belong
// to the layer above, which also makes allowance for pauses of the host itself. It offers
// no compression and no sub-protocol, and ignores Origin.
package websocket
