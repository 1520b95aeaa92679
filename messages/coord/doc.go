// Package coord has the values that a cluster's nodes exchange with their coordinator, a small strictly serializable store with leases
// and ordered watches (docs/spec/cluster.md 3): keys with revisions, conditions, changes, batches. It holds no state and knows neither
// the nodes nor etcd.
package coord
