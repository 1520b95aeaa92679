// Package transport is what all transports have in common: the write side of a
// connection (Conn), the two questions a connection asks of the layer above
// (Handler), and the kinds of transport there are. Frames come from a
// wire.Source, which a connection drains at its own pace; nothing here queues
// without bound, knows an actor or decides what a packet means.
//
// A transport owns its sockets, its read loop and its writer. The layer above
// owns the Source and decides when to flush. transport/gateway is the one place
// where packets become actor messages and back.
package transport
