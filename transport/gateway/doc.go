// Package gateway translates between frames and actor messages. It starts a supervised actor for each connection. It decodes and
// checks the input of the connection's peer, sets the true sender, and posts the result to the player's game session. It enforces
// the limits on each peer.
//
// The gateway runs on the transports' reader goroutines. When it blocks, it slows down only one peer (back-pressure). It owns no
// sockets and no game state.
package gateway
