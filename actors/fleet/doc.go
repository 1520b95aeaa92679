// Package fleet has the fleet actor (Registry), the parent of all game sessions. Its state has three
// owners, none of which touches the fields of another:
//
//	catalog        fleets, aliases, locations, scripts: what exists, and what it may host
//	hosting        versions of scripts, and the server processes that run them
//	games (here)   game sessions, their player sessions, and who is where
//
// The actor passes each message to its owner. The catalog tells a listener what follows from its changes;
// hosting tells the catalog and the game sessions what became of processes. Game sessions and hosting
// know the catalog by interfaces only (Catalog, hosting.Catalog): in a cluster, resources may
// be decided on elsewhere, while game sessions are decided on here.
//
// A game session is created when its fleet has room, its creator may, and no idempotency token has made
// it already; it is shown once it is durable. Everything else is passed to its actor. The API reads the
// published views of game sessions, without a question to them. A crash of the actor ends the
// host, since it must not go on with blank state.
//
// What has been answered is in Options.Store and Options.Catalog. Requests that change something are
// transactions of a ledger (actors/ledger): shown and answered once they are durable. What happens by
// itself (a game session is ACTIVE or has ended, a player comes or goes) is a note, stored without
// anybody waiting. A start reads all of it: game sessions that lived are TERMINATED, their player
// sessions COMPLETED or TIMEDOUT.
//
// The package does not know players beyond their ids, connections, or the wire.
package fleet
