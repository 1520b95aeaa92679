// Package member runs one member of etcd, in the process that calls it, with the settings that a cluster needs (docs/spec/cluster.md 13),
// and takes and restores snapshots. It owns the member's directory. It knows nothing of what is stored.
package member
