// Package fleet keeps the registry: which fleets, aliases and game sessions
// there are, which game session a player session belongs to, and how many more
// a fleet has room for. Its one actor is the parent of all game sessions.
//
// It decides on creation (capacity, idempotency, routing of aliases) and passes
// everything else to the game session in question. What the API reads comes
// from the game sessions' published views, without a question to them. State is
// in memory; a crash of the registry ends the host, since it must not go on
// with blank state.
//
// It does not know players beyond their ids, connections, or the wire.
package fleet
