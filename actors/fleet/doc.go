// Package fleet has the fleet actor (Registry), the parent of all game sessions. Its state has three owners, each with its own fields:
//
//	catalog        fleets, aliases, locations, scripts: what exists, and what it may host
//	hosting        versions of scripts, and the server processes that run them
//	games (here)   game sessions, their player sessions, and the login lookup
//
// The actor passes each message to its owner. The catalog calls a listener with the consequences of its
// changes; hosting reports starts and failures of processes to the catalog and the game sessions.
//
// A game session is created if its fleet has room, its creator is within its limit, and its idempotency
// token is new. It is visible once it is durable. Other requests are passed to its actor. The API reads
// the published views of game sessions without asking their actors. A crash of the fleet actor ends the
// host, because it must not go on without its state.
//
// All answered changes are in Options.Store and Options.Catalog. Requests that change state are
// transactions of a ledger (actors/ledger): visible and answered once they are durable. Changes without a
// request (a game session becomes ACTIVE or ends, a player joins or leaves) are notes, for which nobody
// waits. At its start the actor reads all records. Game sessions that were running when the host stopped
// are TERMINATED, their player sessions COMPLETED or TIMEDOUT.
//
// The package does not know players beyond their ids, connections, or the wire.
package fleet
