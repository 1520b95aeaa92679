package client

import (
	"context"
	"net"
	"time"
)

// A TCP connection begins with a SYN. If it is lost, the kernel retransmits it only after a
// second, which on a flaky link is most of the time that a player is disconnected. So a dial that
// takes long is joined by a second one, and by a third.
const (
	redialAfter = 250 * time.Millisecond // before the second dial; twice that before the third
	redialsMax  = 2
)

// dialAgain dials, and starts further dials in parallel when the first takes long. It returns the
// first result, be it a connection or an error, and closes all other connections.
func dialAgain(ctx context.Context, dial func(ctx context.Context) (net.Conn, error)) (net.Conn, error) {
	type outcome struct {
		conn net.Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	outcomes := make(chan outcome, 1+redialsMax)
	dials, after := 0, redialAfter
	begin := func() {
		dials++
		go func() {
			conn, err := dial(ctx)
			outcomes <- outcome{conn, err}
		}()
	}
	begin()
	timer := time.NewTimer(after)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			if ctx.Err() != nil { // those that are under way return soon
				continue
			}
			begin()
			if after *= 2; dials <= redialsMax {
				timer.Reset(after)
			}
		case first := <-outcomes:
			cancel()
			for range dials - 1 {
				if late := <-outcomes; late.err == nil {
					late.conn.Close()
				}
			}
			return first.conn, first.err
		}
	}
}
