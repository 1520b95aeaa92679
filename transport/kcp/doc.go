// Package kcp is the native transport: messages that are reliable, in order and
// keep their boundaries, over KCP inside a DTLS association, with unreliable
// datagrams beside them. A [Listener] makes a [Conn] of each association that a
// dtls.Endpoint accepts; [Dial] makes the client's [Stream]. Both stand on one
// engine, so the two sides cannot disagree about the format.
//
// # Datagrams
//
// One datagram is the plain text of one DTLS record, at most 1400 bytes. Its
// first byte is its type; numbers are big-endian.
//
//	1 data     KCP segments, one after the other; 1200 bytes with the type
//	2 fast     one unit (length and packet), neither ordered nor repeated
//	3 ping     payload of at most 125 bytes, answered with
//	4 pong     the same payload
//	5 bye      code (2 bytes), reason text of at most 123 bytes; answered with
//	6 byeAck   nothing
//
// Datagrams of other types are dropped and counted. KCP's conversation number is
// a constant: the association tells peers apart already.
//
// A message is what one KCP message is, at most [MessageMax] bytes: more than
// one window could never be put together. A pong proves life, and nothing about
// messages: it overtakes them.
//
// # Who owns what
//
// The carrier under a connection (a *dtls.Association) calls OnRecord from its
// socket's reader; that runs KCP under the connection's lock and never waits.
// Messages are handed up by a goroutine that exists while there are any. When the
// layer above waits, KCP's window closes: the peer's messages stay with the peer.
// On the way out KCP takes what fits its window, the rest stays in the
// wire.Source. Nothing is queued without bound.
//
// # Time
//
// KCP wants to be called every 10 ms. It is not: a connection has one timer,
// armed only while something is due (an ack that waited for company, a resend, a
// ping's repetition, an end that takes too long). One with nothing in flight has
// no timer and no goroutine, and costs no CPU. What is sent is flushed at once
// (flush.go says how).
//
// A lost last message would wait for KCP's timeout of 30 ms or more, because a
// fast resend needs two later acks. So when no ack came for about a round trip,
// at least 10 ms, the last data datagram is sent once more; KCP does not mind
// duplicates. Further silence is left to KCP.
//
// # Ending
//
// A bye with code 1000 from the peer is a leave, everything else is a loss
// (reliability.md 2.1), a close_notify without a bye too. A side that closes
// first sends what it has, for as long as it may linger, then bye every 100 ms
// until it is acknowledged, for one second; then the carrier is closed. The side
// that is told hands up what came before, and answers repeated byes for one
// second.
//
// # What it does not do
//
// It starts no pings on the host (a client asks by itself after silence, see
// DialOptions.StallMax), has no login or idle timeout and counts no
// rates: those belong to the layer above. It does not believe the sender field of
// a fast packet, nor look at it. It has no congestion control beyond KCP's
// windows: a game's traffic is small, and outboxes are bounded.
package kcp
