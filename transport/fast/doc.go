// Package fast is the fast channel over plain UDP (spec/realtime.md sections 7
// and 9, spec/reliability.md section 6, "plain UDP spoofing"): sockets, the
// handshake -5, -6, -7, who may speak for a peer and from where, and one
// outgoing number series per recipient.
//
// # Who owns what
//
// A [Pool] owns the UDP sockets. Each socket has one goroutine that reads and
// one that writes; nothing else touches the kernel. An [Association] is one
// logged-in peer bound to one socket; the layer above opens it at login,
// announces its Port in the LOGIN_RESPONSE, and closes it when the connection or
// the player goes. The pure rules of one peer's address are in binding.go.
//
// # Why a pool
//
// The plain handshake knows a peer by its peer id and its IP address only, but
// one process hosts many game sessions, each counting peers from 1. So two peers
// with the same id and the same IP must not share a port: Open takes the first
// socket on which the pair is free and opens a further one when none is. When
// the sockets run out, the peer gets the port of a socket that only reads and
// discards: its client stays on WebSocket (section 7.5), and its handshakes do
// not disturb whoever holds the pair on a real port.
//
// # Adding DTLS
//
// socket.handle is the demultiplexer. A DTLS record is told by its first byte
// (20 to 63, and a version of 0xfe 0xff or 0xfe 0xfd) and would be led to the
// DTLS state of its address there; what comes out decrypted enters where plain
// does, with an association found by token instead of by the sender field, and
// the write loop would encrypt where it now writes. Pool, Association, queue and
// numbering stay as they are.
//
// # What it does not do
//
// It does not route, look at payloads, enforce FastPayloadMax or rates, or fall
// back to WebSocket. It has no keep-alive: a dead path is noticed when its peer is
// heard from elsewhere, or says so by WebSocket (Restart). Losing the path never
// ends a player (check 56).
package fast
