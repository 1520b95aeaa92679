// Package fleet contains the fleet actor (Registry), the parent of all game sessions. The actor's state has three
// owners:
//
//	catalog        fleets, aliases, locations, scripts: what exists, and what it may host
//	hosting        versions of scripts, and the server processes that run them
//	games (here)   game sessions, their player sessions, and the login lookup
//
// The actor forwards each message to its owner. The catalog tells a listener about the consequences of its changes.
// hosting reports starts and failures of processes to the catalog and the game sessions.
//
// A game session is created if its fleet has room, its creator is within the limit, and its idempotency token is new.
// It becomes visible once it is durable. Other requests about it are forwarded to its actor. The API reads the
// published views of game sessions without asking their actors. A crash of the fleet actor ends the host, because the
// host cannot continue without the actor's state.
//
// All acknowledged changes are in Options.Store and Options.Catalog. A request that changes state is a transaction of a
// ledger (actors/ledger): the change is made visible and acknowledged once it is durable. Changes without a request are
// notes in the ledger, for which nobody waits. Examples are that a game session becomes ACTIVE or ends, and that a
// player joins or leaves. The actor reads all records when it starts. Game sessions that were running when the host
// stopped become TERMINATED, and their player sessions COMPLETED or TIMEDOUT.
//
// The package knows players only by their ids. It does not know connections or the wire format.
package fleet
