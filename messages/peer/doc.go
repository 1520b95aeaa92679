// Package peer encodes and decodes the requests between the nodes of a cluster and their answers. Requests are those of
// package messages, and Hello and Reach of package coord. Each request has a name, which is the name of its type, and a
// body in JSON. Members are named after fields, fields with zero values are omitted, and unknown members are ignored,
// so that neighbouring versions understand each other (cluster.md 10.3). Therefore, renaming a request or a field
// changes the protocol. The package does not handle connections and does not limit sizes.
package peer
