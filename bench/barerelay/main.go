// Command barerelay is the yardstick of the benchmarks: what relaying costs in Go with nothing around it.
//
// One goroutine per connection, no actors, no queue, no batching, no timers, no pings, no limits. A room is a mutex and a
// slice of connections; a message is framed once and written to every member, the sender included, with one write system
// call each. It decodes LOGIN and nothing else, and stamps nothing. It is honest about cost, not about safety: one reader
// that stops reading stops its whole room. Never use it for anything but comparison.
//
// A player session id is room-<r>-<i>: room r, peer id i+1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:0", "listen address")
	announce := flag.String("announce", "", "file to write the bound address to")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, *announce); err != nil {
		fmt.Fprintln(os.Stderr, "barerelay:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends.
func run(ctx context.Context, addr, announce string) error {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if announce != "" {
		if err := writeAnnounce(announce, ln.Addr().String()); err != nil {
			return errors.Join(err, ln.Close())
		}
	}
	context.AfterFunc(ctx, func() { _ = ln.Close() })
	return newRelay().serve(ln)
}
