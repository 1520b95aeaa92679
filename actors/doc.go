// Package actors is the facade of all actors: System starts and ends the tree
//
//	System -> fleet registry -> game session -> {player, group}
//	       -> placements     -> queues and placements
//	       -> matchmaking    -> rule sets, configurations and tickets
//	       -> connections    -> connection
//
// and serves the layers above: gateways connect players through Connect, and System answers the requests of package messages through Do.
// It owns the stage on which all actors run. It has no sockets and no encodings.
package actors
