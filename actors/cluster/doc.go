// Package cluster makes several hosts one (docs/spec/cluster.md). It has the interfaces to the coordinator, which keeps what must outlive a
// host, and to other nodes. A Replica is a copy of the coordinator's records below a prefix. A Node is this process among the others: it
// registers under a lease, watches the other registrations, takes part in elections, and asks nodes whose registration has ended; as the
// leader it has the lost ones reaped. What it knows is a View, an immutable value. No decision rests on clocks alone: a commit holds on
// condition of a term or an incarnation.
//
// A Node owns its goroutines, which Close ends. It does not know etcd or the network, and neither game sessions nor resources: what a
// leader does in its term, and what is reaped, are functions that it is given.
package cluster
