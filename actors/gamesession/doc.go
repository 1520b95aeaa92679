// Package gamesession runs one game: it is the one actor on the data path. The
// readers of its players' connections post Inbound messages; it asks the game's
// Handler, routes (realtime.md 10), and hands the one frame that a reader built
// to the outboxes of those who get it.
//
// It owns the list of players, peer ids, groups' life, the record that the API
// shows, and the calls into the Handler. Player and group actors are its
// children: it restarts them with what survives (reliability.md 4). It never
// restarts itself: its crash ends the game session, and says so.
//
//	Create -> ACTIVATING -> ACTIVE -> TERMINATING -> TERMINATED
//	             | start failed  | exit, empty, drain, crash    ^
//	             '---------------'------------------------------'
//
// It does not decode packets, does not know transports, and does not find game
// sessions or count capacity (actors/fleet does).
package gamesession
