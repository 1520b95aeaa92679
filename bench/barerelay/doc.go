// Package barerelay is the yardstick of the benchmarks: what relaying costs in Go with nothing around it.
//
// One goroutine per connection, no actors, no queue, no batching, no timers, no pings, no limits. A room is a mutex and a
// slice of connections; a message is framed once and written to every member, the sender included, with one write system
// call each. It decodes LOGIN and nothing else, and stamps nothing. It is honest about cost, not about safety: one reader
// that stops reading stops its whole room. Never use it for anything but comparison.
//
// With an interval it collects the messages of a room for that time, in one buffer for all members, and writes the buffer to each of them:
// the least that coalescing can cost.
//
// A second engine does the same with one event loop per core on raw epoll, without a goroutine for a connection: what
// relaying costs at the least. It is for Linux only.
//
// A player session id is room-<r>-<i>: room r, peer id i+1.
package barerelay
