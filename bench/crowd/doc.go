// Package crowd runs many nodes of a cluster in one process, without sockets for players and for each other, against a
// real coordinator: the registration, the election and the directory are those of actors/cluster, the placements are
// written by actors/store/shared. Game sessions and placements are records only. It measures what a large cluster costs
// its coordinator (docs/spec/cluster.md 3.3), and how long it takes to get over a loss.
//
// A Crowd owns its nodes, their goroutines and their clients; Close ends them.
package crowd
