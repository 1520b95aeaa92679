// Package kcp is the native transport: reliable, ordered messages over KCP inside a DTLS association, and unreliable
// datagrams in the same association. A [Listener] makes a [Conn] for each association that a dtls.Endpoint accepts.
// [Dial] makes the client's [Stream]. Both use the same engine, so the two sides cannot disagree about the format.
//
// # Datagrams
//
// One datagram is the plain text of one DTLS record, at most 1400 bytes. Its
// first byte is its type; numbers are big-endian.
//
//	1 data     one or more KCP segments; at most 1200 bytes including the type
//	2 fast     one unit (length and packet), neither ordered nor sent again
//	3 ping     payload of at most 125 bytes; the answer is a pong
//	4 pong     the payload of the ping
//	5 bye      code (2 bytes), reason text of at most 123 bytes; the answer is a byeAck
//	6 byeAck   no content
//
// Datagrams of other types are dropped and counted. KCP's conversation number is a
// constant, because the association already identifies the peer.
//
// A message is one KCP message of at most [MessageMax] bytes, because a message larger
// than one window could never be reassembled. A pong proves that the peer is alive. It
// can overtake messages, so it proves nothing about them.
//
// # Who owns what
//
// The carrier of a connection (a *dtls.Association) calls OnRecord from its socket's
// reader. OnRecord runs KCP under the connection's lock and never waits. A goroutine that
// exists only while there are messages hands them to the layer above. If that layer
// waits, KCP's window closes, and further messages stay with the peer.
//
// # Time
//
// KCP is designed to be called every 10 ms. Here a connection has one timer instead, armed only while something is due.
// A connection with nothing in flight has no timer and no goroutine. All connections of a Listener share one clock
// (clock.go). Messages are flushed as soon as they are sent (flush.go). Timeouts caused by a silent peer are postponed
// while the socket has many unread datagrams (patience.go).
//
// If the last message is lost, KCP alone would resend it only after its timeout of 30 ms or more, because a fast resend needs
// two later acks. Therefore, if no ack arrives for about a round trip, at least 10 ms, the last data datagram is sent once
// more. After that only KCP resends. If the peer still acknowledges nothing, the resends become rarer (send.go, backOffAfter).
//
// # Ending
//
// A bye with code 1000 from the peer is a leave. Every other end is a loss (reliability.md 2.1), including a
// close_notify without a bye. The side that closes first sends its queued messages for at most its linger time. Then it
// repeats a bye until it is acknowledged. The other side still delivers the messages that arrived before the bye.
//
// # What it does not do
//
// On the host it starts no pings, has no login or idle timeout and no rate limits: those
// belong to the layer above. It has no congestion control beyond KCP's windows: a game's
// traffic is small, and outboxes are bounded.
package kcp
