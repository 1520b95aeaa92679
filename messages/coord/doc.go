// Package coord defines the values that a cluster's nodes exchange with their coordinator: keys with revisions,
// conditions, changes and batches. The coordinator is a small, strictly serializable store with leases and ordered
// watches (docs/spec/cluster.md 3). The package has no state and knows neither the nodes nor etcd.
package coord
