// Package cluster joins several hosts into one cluster (docs/spec/cluster.md). It declares the interfaces to the
// coordinator, which stores everything that must survive the loss of a host, and to other nodes. A Replica is a copy of
// the coordinator's records below a prefix. A Node is this process as a node of the cluster. It registers under a lease,
// watches the other registrations, and takes part in elections. It also asks nodes whose registration has ended for a
// sign of life. As the leader, it has lost nodes reaped. A View is an immutable value that contains what a Node knows.
// No decision depends on clocks alone: every commit is conditional on a term or an incarnation.
//
// A Node owns its goroutines; Close ends them. It does not depend on etcd, the network, game sessions or resources. Its
// Options contain the functions that do a leader's work and that reap a node.
package cluster
