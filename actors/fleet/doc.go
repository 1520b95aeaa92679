// Package fleet keeps the registry: which fleets, aliases and game sessions
// there are, which game session a player session belongs to, and how many more
// a fleet has room for. Its one actor is the parent of all game sessions.
//
// It decides on creation (capacity, idempotency, routing of aliases) and passes
// everything else to the game session in question. What the API reads comes
// from the game sessions' published views, without a question to them. A crash of the
// registry ends the host, since it must not go on with blank state.
//
// What has been answered is in Options.Store: requests that change something are
// transactions of the ledger (actors/ledger), shown and answered once they are durable.
// What happens by itself (a game session is ACTIVE or has ended, a player comes, goes or
// stays away) is a note of the ledger, stored without anybody waiting. At a start
// all is read again: game sessions that lived are TERMINATED, their player sessions
// COMPLETED or TIMEDOUT, which the record of the game session says for them.
//
// It does not know players beyond their ids, connections, or the wire.
package fleet
