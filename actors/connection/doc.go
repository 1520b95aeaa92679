// Package connection watches over one connection each: the time a peer may take
// to log in, pings and signs of life, and the hand-over to the player that the
// connection comes to serve. A connection never restarts: it ends, and its
// player lives on detached.
//
// The Handle is the connection as others see it. The transport's reader asks it
// where input goes, a player binds it. Packets do not pass through the actor:
// once bound, the reader posts straight to the game session.
//
// The package does not read or write sockets, parse packets or know the
// transports apart.
package connection
