package client

import (
	"context"
	"net"
	"time"
)

// The kernel retransmits a lost SYN only after a second. On a flaky link that is most of the time for which a player is
// disconnected. So if a dial takes long, a second one is started in parallel, and later a third.
const (
	redialAfter = 250 * time.Millisecond // before the second dial; the third follows after twice that time
	redialsMax  = 2
)

// dialAgain dials. If that takes long, it dials again in parallel. It returns the first result, a connection or an
// error. It closes connections of the other dials.
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
			if ctx.Err() != nil { // the running dials return soon
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
