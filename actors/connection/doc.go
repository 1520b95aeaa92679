// Package connection supervises connections. An Actor limits the time until the login, sends
// pings, detects a silent peer, and passes the login on to the player. A connection is never
// restarted: it ends, and its player stays, detached.
//
// Others use a connection through its Handle. A player binds the Handle; from then on the
// transport's reader posts packets straight to the game session, not to the Actor.
//
// The package does not read or write sockets, parse packets or distinguish transports.
package connection
