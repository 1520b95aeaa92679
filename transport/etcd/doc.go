// Package etcd implements the coordinator of a cluster (docs/spec/cluster.md 3) with etcd's own client. It
// converts values of package coord to etcd's requests, and etcd's errors to those of coord. A Client owns its
// connections, and Close ends them. It makes no retries, and attaches no meaning to keys. Package member runs
// a member of etcd.
package etcd
