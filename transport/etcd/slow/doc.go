// Package slow measures whether a disk is fast enough for etcd (docs/spec/cluster.md 3.2), as a member and as a node see
// it. It has no state.
package slow
