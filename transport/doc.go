// Package transport contains what all transports have in common: the write side of a connection (Conn), the callbacks for its
// input (Handler and Acceptor), and the limits on connections without a login (Admission). It has no unbounded queues and does
// not interpret packets.
//
// A transport owns its sockets, its read loop and its writer. The layer above owns the wire.Source, which a connection drains
// at its own pace, and decides when to flush. Only transport/gateway translates between packets and actor messages.
package transport
