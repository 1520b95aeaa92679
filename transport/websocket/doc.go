// Package websocket is the server side of the reliable channel over ws and wss
// (realtime.md 1, 2 and 12). A [Listener] accepts sockets, answers the opening
// handshake and makes a [Conn] of each; what the packets mean is decided by the
// transport.Acceptor it serves.
//
// # What is ours and what is not
//
// net/http parses the request, within limits of time and size, and
// github.com/lxzan/gws performs the opening handshake. Accepting is ours: a
// connection hijacked from net/http's server leaves 8 KiB of garbage. From there on frames are
// read and written by this package alone. The library's reader allocates one
// message per inbound message and reserves the length a frame claims, before any
// login; its asynchronous writer queues without bound. Here an inbound message
// costs no allocation, memory follows the bytes that really arrived, and what
// is to be sent stays in the wire.Source until the kernel takes it.
//
// # Goroutines
//
// An idle connection has one goroutine, its reader, which also calls the
// Acceptor and the Handler. A writer goroutine exists only while a peer takes
// bytes slower than they come, while a connection is being closed, and during
// writes of connections that know no non-blocking write (TLS, and all of
// them where there is no unix). The handshake's goroutine ends with it.
//
// # Reading
//
// The rules are those of RFC 6455 for servers, with a bound on the size of a
// message, on its frames, and a smaller one before login; the size is checked on
// the frame header, before anything is reserved. Messages of up to 512 bytes, header
// included, are handed on from the read buffer; larger and fragmented ones are
// put together in pooled buffers that grow with what has arrived. Data that
// arrives after the host began to close is read and dropped.
//
// # Writing
//
// Flush drains the source into a pooled buffer of 32 KiB and hands it to the
// kernel in one system call. What the kernel does not take is kept, with its
// buffer, by the connection's writer goroutine until it is gone, so a stalled
// peer holds at most one buffer. Pings, pongs and frames of the host's own go
// out before the source is drained again. There is one pong and one ping to be
// sent at most: a newer one replaces an older one that still waits.
//
// # Sockets
//
// TCP_NODELAY is on, and the send buffer is Options.SendBufferBytes. TCP keep-alive is off,
// whatever listener is given: the layer above pings and has a login timeout, so a probe
// would find nothing that is not found sooner. On Linux the socket is asked what the peer's
// system has acknowledged, by which a slow reader is told from a dead one (progress.go),
// and TCP_USER_TIMEOUT is Options.WriteTimeout once the connection ends.
//
// # Ending
//
// A close frame 1000 from the peer is a leave, all else is a loss (reliability.md
// 2.1). The official C# client leaves with 1000. A browser's close() without
// arguments, which is what the TypeScript client runs on, sends a close frame
// without a code (the HTML standard says so; RFC 6455 calls it 1005), and
// closing the page sends 1001. By the letter both are losses, and the seat is
// held for the reconnection window; Options.EmptyCloseIsLeave makes the frame
// without a code a leave. In both cases End.Code is 0 and End.Err is nil.
//
// Nothing the peer sends after the host began to close is a leave: End.Clean is
// false then, and End.ByHost says why.
//
// # What it does not do
//
// It starts no pings, has no login or idle timeout and counts no rates: those
// belong to the layer above, as does forgiving a paused server. It offers no
// compression and no sub-protocol, and looks at no Origin.
package websocket
