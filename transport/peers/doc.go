// Package peers carries requests from one node of a cluster to another, over gRPC and TLS 1.3 (docs/spec/cluster.md 13), in the bodies of
// package messages/peer. A Client keeps one connection to each node, which its callers share; a Server has requests answered by a
// messages.Doer. Both sides show certificates of the cluster's own authority, whose files InitAuthority and Issue make. A server pings a
// client that is quiet, and a client that reads nothing for 3 s gives its connection up: so each finds a silent peer, also one whose
// process is stopped. Nothing is sent twice. The package knows neither actors nor the coordinator, and does not decide who is alive.
package peers
