// Package gateway translates between frames and actor messages. It starts a supervised actor for each connection, decodes and checks what
// its peer sends, writes the true sender into it, and posts it to the player's game session. It enforces the limits on one peer.
//
// The gateway runs on the transports' reader goroutines. When it waits, it slows down one peer only (back-pressure). It owns no sockets and
// no game state.
package gateway
