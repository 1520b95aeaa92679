package client

import (
	"context"
	"net"
	"time"
)

// The kernel retransmits a lost SYN only after a second, most of the time that a player on a flaky link is disconnected. So a
// dial that takes long is joined by a second one, and by a third.
const (
	redialAfter = 250 * time.Millisecond // before the second dial; twice that before the third
	redialsMax  = 2
)

// dialAgain dials, again in parallel if that takes long. It returns the first result, connection or error, and closes the others.
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
