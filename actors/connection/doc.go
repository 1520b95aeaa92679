// Package connection supervises connections. An Actor limits the time until the login, sends pings, detects a silent
// peer and forwards the login to the player. The Actor is never restarted. When it ends, its player remains and is
// detached.
//
// Other packages use the Handle of a connection. After a player has bound the Handle, the transport's reader posts
// packets directly to the game session.
//
// The package does not read or write sockets, parse packets or distinguish transports.
package connection
