// Package fast is the fast channel over plain UDP (realtime.md 7 and 9):
// sockets, the handshake -5, -6, -7, the rules about which addresses may send for
// a peer, and one outgoing number series per recipient. Its secured variant over
// DTLS is [Secured].
//
// # Who owns what
//
// A [Pool] owns the UDP sockets. Each socket has one goroutine that reads and
// one that writes; no other goroutine calls the kernel. An [Association] is one
// logged-in peer bound to one socket. The layer above opens it at login, announces its
// Port in the LOGIN_RESPONSE, and closes it when the connection or the player ends. The
// pure rules about one peer's address are in binding.go.
//
// # Why a pool
//
// The plain handshake identifies a peer only by its peer id and its IP address, but one
// process hosts many game sessions, and each numbers its peers from 1. Two peers with
// the same id and the same IP must therefore not share a port. Open takes the first
// socket on which the pair is free, and opens a further one if there is none. When the
// sockets run out, the peer gets the port of a socket that discards everything it
// reads: its client stays on WebSocket (realtime.md 7.5), and its handshakes do not disturb
// the peer that holds the pair on another port.
//
// With DTLS a peer identifies itself by the token of its login, and there is no pool.
//
// # What it does not do
//
// It does not route, enforce FastPayloadMax or rates, or fall back to WebSocket, and has no
// keep-alive. Losing the path never ends a player.
package fast
