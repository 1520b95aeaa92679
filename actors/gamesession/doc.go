// Package gamesession runs one game session, the only actor that handles a message between
// two players. Connection readers post Inbound packets to it. It asks the game's Handler,
// routes the packet (realtime.md 10), and pushes its frame into the outboxes of the
// recipients. The frame is built once, by the reader.
//
// The actor owns player sessions, the roster, peer ids, the groups, the record behind the
// API's view, and all calls into the Handler. Player and group actors are its children. It
// restarts a crashed child with its durable state (reliability.md 4). It is never restarted
// itself: a crash ends the game session with a status that says so.
//
//	Create -> ACTIVATING -> ACTIVE -> TERMINATING -> TERMINATED
//	             | start failed  | exit, empty, drain, crash    ^
//	             '---------------'------------------------------'
//
// It does not decode packets and knows no transports. Looking up game sessions and counting
// capacity belong to actors/fleet.
package gamesession
