// Package cluster makes several hosts one (docs/spec/cluster.md). It has the interface to the coordinator, which keeps what must outlive
// a host. It does not know etcd or the network.
package cluster
