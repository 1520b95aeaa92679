package kcp

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// slowCarrier is the Carrier of many connections. Each Write takes a millisecond.
type slowCarrier struct{ inside, most, sent atomic.Int32 }

func (s *slowCarrier) Write([]byte) bool {
	s.most.Store(max(s.most.Load(), s.inside.Add(1)))
	time.Sleep(time.Millisecond)
	s.inside.Add(-1)
	s.sent.Add(1)
	return true
}

func (*slowCarrier) RemoteAddr() netip.AddrPort { return netip.AddrPort{} }
func (*slowCarrier) Unread() bool               { return false }
func (*slowCarrier) Close()                     {}

type acceptAll struct{}

func (acceptAll) Accept(transport.Conn) (transport.Handler, messages.CloseReason) {
	return transport.Nobody{}, 0
}

// Timers of many connections that are due at the same time fire one after another, so that the reader gets its turn.
func TestTimersOfACrowdFireOneAfterTheOther(t *testing.T) {
	in(t, func(t *testing.T) {
		const crowd = 100
		var s slowCarrier
		l := NewListener(Options{}, acceptAll{})
		var conns []*engine
		for range crowd {
			conns = append(conns, l.accept(&s))
		}
		for _, e := range conns {
			e.lock()
			e.ping.frame, e.ping.left, e.timer.ping = []byte{byte(framePing)}, 1, e.now+time.Second
			e.leave()
		}
		time.Sleep(2 * time.Second)
		if sent, most := s.sent.Load(), s.most.Load(); sent != crowd || most != 1 {
			t.Errorf("%d pings, %d at a time", sent, most)
		}
		for _, e := range conns {
			e.abort(nil)
		}
		synctest.Wait()
		if n := len(l.clock.queue); n != 0 {
			t.Errorf("%d connections in the clock after their end", n)
		}
	})
}

func TestClockFiresInOrder(t *testing.T) {
	in(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		var got []time.Duration
		c := newClock()
		c.fired = func() { got = append(got, time.Since(c.start)) }
		var want []time.Duration
		for range 500 {
			e := &engine{set: settings{clock: c}, start: c.start, phase: phaseEnded}
			e.ending.carrierClosed = true
			e.timer.reset()
			for range rng.IntN(3) { // each set replaces the previous one
				c.set(e, time.Duration(rng.Int64N(int64(time.Second))))
			}
			if rng.IntN(4) == 0 {
				c.stop(e)
				continue
			}
			at := time.Duration(rng.Int64N(int64(time.Second)))
			c.set(e, at)
			want = append(want, at)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("fired %d times, want %d, or at other times", len(got), len(want))
		}
		if c.at != never {
			t.Error("the timer is set with nothing to fire")
		}
	})
}
