// Package member runs one member of etcd in the calling process, with the settings that a cluster needs
// (docs/spec/cluster.md 13). It also takes and restores snapshots. It owns the member's directory, and
// attaches no meaning to the stored data.
package member
