// Package websocket is the server side of the reliable channel over ws and wss
// (realtime.md 1, 2 and 12). A [Listener] accepts sockets, answers the opening
// handshake and makes a [Conn] of each. The transport.Acceptor that it serves interprets
// the packets.
//
// # Division of work with net/http
//
// A request as clients send it is parsed in place (usual.go), any other by net/http, within limits of
// time and size. This package accepts the sockets itself, because a connection hijacked from
// net/http's server leaves 8 KiB of garbage. It uses no WebSocket library: the readers of such
// libraries allocate for every inbound message, and some reserve the length that a frame claims,
// even before the login; their asynchronous writers queue without bound. Here an inbound
// message costs no allocation, memory grows only with bytes that have arrived, and
// output stays in the wire.Source until the kernel takes it.
//
// # Goroutines
//
// An idle connection has one goroutine, its reader, which also calls the
// Acceptor and the Handler. After the first message another reader takes its place,
// because the stack has grown by then. A writer goroutine exists only while a peer reads more
// slowly than the host sends, while a connection is being closed, and during writes on
// connections without non-blocking writes (TLS, and all connections on systems other
// than Unix). The handshake has a goroutine, which ends with it.
//
// # Reading
//
// The rules are those of RFC 6455 for servers. The size of a message and the number of
// its frames are limited, with a lower limit on the size before the login. The size is
// checked on the frame header, before memory is reserved. Messages of up to 512 bytes,
// header included, are handed on from the read buffer. Larger and fragmented messages are
// assembled in pooled buffers that grow with the bytes that have arrived. Data that
// arrives after the host began to close is read and dropped.
//
// # Writing
//
// Flush drains the source into a pooled buffer of 32 KiB and hands it to the kernel in
// one system call. If the kernel does not take all of it, the connection's writer
// goroutine keeps the buffer and writes the rest. A stalled peer thus holds at most one
// buffer. Pings, pongs and frames of the host itself are written before the source is
// drained again. At most one pong and one ping are pending: a newer one replaces an
// older one that has not been sent.
//
// # Sockets
//
// TCP_NODELAY is on, and the send buffer is 128 KiB. TCP keep-alive is
// off on every listener: the layer above pings and has a login timeout, and so finds a
// dead peer sooner than a probe would. On Linux, the socket reports how much the peer's
// system has acknowledged, which distinguishes a slow reader from a dead one
// (progress.go). There, TCP_USER_TIMEOUT is set to Options.WriteTimeout when the
// connection ends.
//
// # Ending
//
// A close frame 1000 from the peer is a leave. Every other end is a loss (reliability.md
// 2.1). The official C# client leaves with 1000. The TypeScript client uses a browser's
// close() without arguments, which sends a close frame without a code (the HTML standard
// says so; RFC 6455 calls it 1005). Closing the page sends 1001. By the specification
// both are losses, and the seat is held for the reconnection window.
// Options.EmptyCloseIsLeave makes the frame without a code a leave. With that option or
// without it, End.Code is 0 and End.Err is nil for such a frame.
//
// After the host began to close, nothing that the peer sends counts as a leave: End.Clean
// is false then, and End.ByHost has the reason.
//
// # What it does not do
//
// It starts no pings and has no login timeout, idle timeout or rate limits. Those belong
// to the layer above, which also makes allowance for pauses of the host itself. It offers
// no compression and no sub-protocol, and ignores Origin.
package websocket
