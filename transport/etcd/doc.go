// Package etcd is the coordinator of a cluster (docs/spec/cluster.md 3) on etcd's own client: it turns values of package coord into etcd's
// requests, and etcd's errors into those of coord. A Client owns its connections; Close ends them. It repeats nothing, and knows neither
// keys nor nodes. Package member runs a member of etcd.
package etcd
