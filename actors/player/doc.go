// Package player keeps one player session alive from reservation to end, across
// connections.
//
//	            LOGIN              gate says yes
//	RESERVED ---------> JOINING ----------------> ATTACHED(e) <------.
//	   |  ^                |                       |       |  LOGIN  |
//	60 s  '--gate says no--'                  loss |       | e+1     |
//	   |                                           v       |         |
//	   v                                       DETACHED(e)-+---------'
//	 GONE <---- LEAVING <-- window over, leave, kick, game end
//
// The decisions are the Machine: a pure state machine (reliability.md 2.8) that
// turns events into effects. The Actor carries them out, owns the timers and
// rules the Outbox: the bounded queue of what the player is still to get, filled
// by the game session and by groups, drained by the writer of whatever
// connection is attached. Durable holds what survives a restart of the actor.
//
// The package does not route messages, does not run the game's callbacks (the
// game session does, and tells) and knows no transport: a connection is a Link.
package player
