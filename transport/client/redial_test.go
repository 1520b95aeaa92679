package client

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipeEnd is a connection that records whether it was closed.
type pipeEnd struct {
	net.Conn
	number int
	closed bool
}

func (p *pipeEnd) Close() error { p.closed = true; return nil }

// TestDialAgain: if a dial takes too long, a second one starts, earlier than the kernel would resend a lost SYN. A slow
// first dial still counts. Connections that are made too late are closed.
func TestDialAgain(t *testing.T) {
	refused := errors.New("refused")
	never := time.Duration(0)
	for name, c := range map[string]struct {
		takes  []time.Duration // duration of each dial, in order; never means until its context ends
		err    error           // result of the first dial
		within time.Duration
		after  time.Duration
		got    int // number of the returned dial; 0 for none
		dials  int
	}{
		"at once":              {[]time.Duration{1}, nil, time.Second, 1, 1, 1},
		"refused":              {[]time.Duration{1}, refused, time.Second, 1, 0, 1},
		"the first is lost":    {[]time.Duration{never, 1}, nil, time.Second, redialAfter + 1, 2, 2},
		"slow":                 {[]time.Duration{redialAfter + 50, redialAfter + 50}, nil, time.Second, redialAfter + 50, 1, 2},
		"two are lost":         {[]time.Duration{never, never, 1}, nil, time.Second, 3*redialAfter + 1, 3, 3},
		"all are lost":         {[]time.Duration{never, never, never}, nil, 2 * time.Second, 2 * time.Second, 0, 3},
		"refused in the end":   {[]time.Duration{redialAfter + 10, never}, refused, time.Second, redialAfter + 10, 0, 2},
		"no time for a second": {[]time.Duration{never}, nil, redialAfter / 2, redialAfter / 2, 0, 1},
	} {
		bubble(t, name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), c.within)
			defer cancel()
			var mu sync.Mutex
			var made []*pipeEnd
			began, dials := time.Now(), 0
			conn, err := dialAgain(ctx, func(ctx context.Context) (net.Conn, error) {
				mu.Lock()
				dials++
				n := dials
				mu.Unlock()
				timer := time.NewTimer(time.Hour)
				if takes := c.takes[n-1]; takes != never {
					timer.Reset(takes)
				}
				select {
				case <-timer.C:
				case <-ctx.Done():
					return nil, ctx.Err()
				}
				if n == 1 && c.err != nil {
					return nil, c.err
				}
				p := &pipeEnd{number: n}
				mu.Lock()
				made = append(made, p)
				mu.Unlock()
				return p, nil
			})
			after := time.Since(began)
			time.Sleep(time.Minute)
			synctest.Wait()
			got := 0
			if conn != nil {
				got = conn.(*pipeEnd).number
			}
			if after != c.after || got != c.got || dials != c.dials || (err == nil) != (got != 0) || c.err != nil && !errors.Is(err, c.err) {
				t.Errorf("dial %d of %d after %v: %v", got, dials, after, err)
			}
			for _, p := range made {
				if p.closed != (p.number != got) {
					t.Errorf("dial %d: closed %v", p.number, p.closed)
				}
			}
		})
	}
}
