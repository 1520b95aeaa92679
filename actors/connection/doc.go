// Package connection supervises connections. An Actor limits the time until the login, sends pings, detects a
// silent peer, and passes the login to the player. It is never restarted: it ends, and its player stays, detached.
//
// Others use its Handle. Once a player has bound it, the transport's reader posts packets straight to the game session.
//
// The package does not read or write sockets, parse packets or distinguish transports.
package connection
