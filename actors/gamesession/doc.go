// Package gamesession runs one game session. Its actor is the only one that handles a message between two players.
// Connection readers post Inbound packets to it. It asks the game's Handler, routes the packets (realtime.md 10), and
// pushes the frame, which the reader has built, into the recipients' outboxes.
//
// The actor owns the player sessions, the roster, the peer ids, the groups and the API's record, and it makes all calls
// into the Handler. Players and groups are its children. They are restarted after a crash with their durable state
// (reliability.md 4). If the game session's actor itself crashes, the game session ends with a status that says so.
//
//	Create -> ACTIVATING -> ACTIVE -> TERMINATING -> TERMINATED
//	             | start failed  | exit, empty, drain, crash    ^
//	             '---------------'------------------------------'
//
// The package decodes no packets and knows no transports. Package actors/fleet finds game sessions and counts capacity.
package gamesession
