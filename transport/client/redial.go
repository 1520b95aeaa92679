package client

import (
	"context"
	"net"
	"time"
)

// A connection over TCP begins with one packet, and when that is lost the kernel
// sends another after a second: on a link that was away for a moment this is most of
// the time that a player is. So dials that take long are joined by another, twice.
const (
	redialAfter = 250 * time.Millisecond // before the second dial; twice that before the third
	redialsMax  = 2
)

// dialAgain dials, and dials again beside that when it takes long. The first
// connection counts, and so does the first error. It leaves nothing behind.
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
