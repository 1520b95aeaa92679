// Package actors is the facade of all actors. A System starts and ends the tree of actors:
//
//	System -> fleet registry -> game session -> {player, group}
//	       -> placements     -> queues and placements
//	       -> matchmaking    -> rule sets, configurations and tickets
//	       -> connections    -> connection
//
// It also serves the layers above: gateways attach connections through Connect, and Do answers the requests defined in
// package messages. The package owns the stage on which all actors run. It contains no sockets and no encodings.
package actors
