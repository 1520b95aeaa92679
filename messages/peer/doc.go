// Package peer turns requests between the nodes of a cluster, and their answers, into bytes and back. Requests are those of package
// messages, and Hello and Reach of package coord. Each has a name, which is the name of its type, and a body in JSON: members are named
// after fields, those with zero values are left out, and unknown ones are ignored, so that neighbouring versions understand each other
// (cluster.md 10.3). To rename a request or a field is to change the protocol. The package knows no connections, and limits no sizes.
package peer
