// Package barerelay is the baseline of the benchmarks: a minimal relay in Go. It shows what relaying itself costs.
//
// Each connection has one goroutine. There are no actors, queues, batching, timers, pings or limits. A room is a mutex
// and a slice of connections. The relay frames a message once and writes it to every member, including the sender, with
// one write system call per member. It decodes LOGIN only and does not stamp messages. One reader that stops reading
// blocks its whole room, so never use this relay for anything but comparison.
//
// If an interval is set, the relay collects the messages of a room for that time in one buffer and then writes the
// buffer to each member. This is the minimum cost of coalescing.
//
// A second engine does the same with one event loop per core on raw epoll and without a goroutine per connection. It is
// the minimum cost of relaying. It needs Linux.
//
// The player session id room-<r>-<i> means room r and peer id i+1.
package barerelay
