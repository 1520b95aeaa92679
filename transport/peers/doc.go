// Package peers sends requests from one node of a cluster to another over gRPC and TLS 1.3 (docs/spec/cluster.md 13).
// Package messages/peer encodes the bodies. A Client has one connection to each node, which all callers share. A Server
// passes requests to a messages.Doer. Both sides present certificates of the cluster's own authority; InitAuthority and
// Issue create the files. A server pings a client that sends nothing. A client closes a connection on which it has
// received nothing for 3 s. So each side detects a silent peer, even one whose process is stopped. A request is sent
// only once. The package does not depend on actors or the coordinator, and does not decide whether a node is alive.
package peers
