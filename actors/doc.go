// Package actors is the facade of everything that lives: System starts and ends
// the tree
//
//	System -> fleet registry -> game session -> {player, group}
//	       -> placements     -> queues and placements
//	       -> connections    -> connection
//
// and answers the layers above. A gateway connects players through Connect, the
// service API asks through the methods of serviceapi's Backend. It owns the
// stage that all actors run on. It knows no sockets and no encodings.
package actors
