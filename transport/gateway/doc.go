// Package gateway is the one place where frames become actor messages and back:
// it accepts connections from the transports, puts them under supervision,
// decodes and checks what they send, stamps the true sender, and posts it to the
// game session that the player is in. It enforces what a peer may cost: rates,
// payload sizes, malformed packets, failed logins.
//
// Work here runs on the transports' reader goroutines; waiting in it is
// back-pressure on one peer alone. The gateway owns no sockets and no game
// state, and it does not route: that is the game session's.
package gateway
