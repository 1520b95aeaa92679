package gateway

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport"
)

// whoAsks is a connection of which only the address matters.
type whoAsks struct {
	transport.Conn
	addr string
}

func (c whoAsks) RemoteAddr() netip.AddrPort { return netip.MustParseAddrPort(c.addr) }

// A refusal is sent a whole number of refusalSteps after the LOGIN was read, whatever was checked and however long that took.
// If the address is over its limit, the refusal is delayed by a further second, but only for a few refusals in each second.
// RL-205.
func TestARefusalIsSentAtAWholeStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Options{Limits: Limits{LoginFailuresPerIPPerMinute: 20}})
		refusal := func(addr string, took time.Duration, unknown bool) time.Duration {
			p := &peer{gateway: g, conn: whoAsks{addr: addr}, readAt: time.Since(g.started), unknown: unknown}
			time.Sleep(took)
			wait := p.Refused()
			if wait <= 0 || (took+wait)%refusalStep != 0 {
				t.Errorf("a check of %v is answered after %v", took, took+wait)
			}
			return wait
		}
		for i := range 20 {
			if wait := refusal("192.0.2.1:1", time.Duration(i*i)*731*time.Microsecond, true); wait > refusalStep {
				t.Errorf("guess %d waits %v", i, wait)
			}
		}
		time.Sleep(guessPause)
		for i := range 2 * guessesHeldMax {
			if wait, held := refusal("192.0.2.1:2", time.Microsecond, true), i < guessesHeldMax; held != (wait > guessPause) {
				t.Errorf("guess %d over the limit waits %v", i, wait)
			}
		}
		if wait := refusal("192.0.2.2:1", 77*time.Millisecond, false); wait > refusalStep {
			t.Errorf("another address waits %v", wait)
		}
	})
}
