// Package transport defines what all transports have in common: the write side of
// a connection (Conn), the callbacks for its input (Handler and Acceptor), the
// kinds of transport, and the limits on connections without a login (Admission).
// A connection drains its frames from a wire.Source at its own pace. The package
// has no unbounded queues, imports no actors and does not interpret packets.
//
// A transport owns its sockets, its read loop and its writer. The layer above
// owns the Source and decides when to flush. Only transport/gateway translates
// between packets and actor messages.
package transport
