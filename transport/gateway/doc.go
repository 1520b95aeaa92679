// Package gateway translates between frames and actor messages. It accepts
// connections from the transports and starts a supervised actor for each. It
// decodes and checks what a peer sends, writes the true sender into it, and posts
// it to the player's game session. It enforces the limits on one peer: rates,
// payload sizes, malformed packets, failed logins.
//
// The gateway runs on the transports' reader goroutines. When it waits, it slows
// down one peer only (back-pressure). It owns no sockets and no game state.
// Routing is the game session's work.
package gateway
