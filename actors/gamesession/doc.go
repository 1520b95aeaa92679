// Package gamesession runs one game session, the only actor that handles a message between two
// players: connection readers post Inbound packets, it asks the game's Handler, routes them
// (realtime.md 10), and pushes the frame, built once by the reader, into the recipients' outboxes.
//
// The actor owns player sessions, the roster, peer ids, the groups, the API's record, and all calls
// into the Handler. Players and groups are its children, restarted after a crash with their durable
// state (reliability.md 4). Its own crash ends the game session with a status that says so.
//
//	Create -> ACTIVATING -> ACTIVE -> TERMINATING -> TERMINATED
//	             | start failed  | exit, empty, drain, crash    ^
//	             '---------------'------------------------------'
//
// It decodes no packets and knows no transports. Looking up game sessions and counting capacity is actors/fleet's.
package gamesession
