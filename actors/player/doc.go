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
// The Machine decides: a pure state machine (reliability.md 2.8) that turns events
// into effects. The Actor carries out the effects, owns the timers and controls the
// Outbox: the bounded queue of messages to the player, filled by the game session
// and by groups, drained by the writer of the attached connection. Durable is the
// state that survives a restart of the actor.
//
// The package routes no messages and knows no transport, only a Link. The game session runs the game's callbacks.
package player
