// Package fast is the fast channel over plain UDP (realtime.md 7 and 9). It has
// the sockets, the handshake -5, -6, -7, the rules about which addresses may send
// for a peer, and a separate series of outgoing numbers for each recipient.
// [Secured] is the variant over DTLS.
//
// # Who owns what
//
// A [Pool] owns the UDP sockets. Each socket has one goroutine that reads and
// one that writes; no other goroutine uses it. An [Association] is one logged-in
// peer bound to one socket. The layer above opens it at login, announces its Port
// in the LOGIN_RESPONSE, and closes it when the connection or the player ends.
// The pure rules about one peer's address are in binding.go.
//
// # Why a pool
//
// The plain handshake identifies a peer only by its peer id and its IP address. But one
// process hosts many game sessions, and each numbers its peers from 1. Two peers with
// the same id and the same IP must therefore not share a port. Open takes the first
// socket on which the pair of id and IP is free, and opens another socket if there is
// none. If no more sockets can be opened, the peer gets the port of a socket that discards
// everything. Then the client stays on WebSocket (realtime.md 7.5), and its handshakes do
// not disturb the peer that uses the same pair on another port.
//
// With DTLS a peer identifies itself by the token of its login, so there is no pool.
//
// # What it does not do
//
// It does not route packets, does not enforce FastPayloadMax or rates, does not fall back
// to WebSocket, and has no keep-alive. Losing the path never ends a player.
package fast
