package acceptance_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport/host"
	"troupe/transport/transporttest/stock"
)

const (
	crowdPlayers = 2000 // players behind one address
	crowdSources = 100  // number of addresses with 20 silent connections each
)

// crowdHost starts a host with the default limits.
func crowdHost(t *testing.T, change func(*host.Config)) *testHost {
	return startHost(t, func(c *host.Config) {
		c.Limits = host.Defaults().Limits
		if change != nil {
			change(c)
		}
	}, nil)
}

// stubborn is a stock player that retries its login once a second, from one address.
type stubborn struct {
	id     string
	from   string
	client *stock.Client
	peer   int32
	failed int   // number of failed attempts
	why    error // error of the last failed attempt
}

// enter logs in within limit. It retries after failures and counts them.
func (s *stubborn) enter(h *testHost, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	for {
		c, err := stock.Dial(ctx, h.host.Addrs().WS, s.id, stock.Options{NoUDP: true, LocalAddr: s.from, Network: h.Net})
		if err == nil {
			if _, err = c.AwaitLogin(ctx); err == nil {
				if s.client = c; s.peer != 0 && s.peer != c.PeerID() {
					return fmt.Errorf("%s came back as %d, was %d", s.id, c.PeerID(), s.peer)
				}
				s.peer = c.PeerID()
				return nil
			}
			c.Kill()
		}
		s.failed, s.why = s.failed+1, err
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(time.Second):
		}
	}
}

// crowd reserves player sessions for n players behind one address.
func (h *testHost) crowd(n int, from string) (all []*stubborn) {
	h.Helper()
	for n > 0 {
		some := min(n, 100)
		for rest := h.newGame(some); some > 0; {
			few := min(some, 25) // maximum of one call
			for _, id := range h.seats(rest, few) {
				all = append(all, &stubborn{id: id, from: from})
			}
			some, n = some-few, n-few
		}
	}
	h.Cleanup(func() {
		for _, s := range all {
			if s.client != nil {
				s.client.Kill()
			}
		}
	})
	return all
}

// atOnce makes all players log in at the same time.
func (h *testHost) atOnce(all []*stubborn, limit time.Duration) (took []time.Duration) {
	h.Helper()
	took = make([]time.Duration, len(all))
	begun := time.Now()
	var lost atomic.Int64
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() {
			if err := s.enter(h, limit); err != nil && lost.Add(1) <= 3 {
				h.Errorf("%s: %v", s.id, err)
			}
			took[i] = time.Since(begun)
		})
	}
	wg.Wait()
	slices.Sort(took)
	tries := 0
	var why error
	for _, s := range all {
		tries += s.failed
		if s.why != nil {
			why = s.why
		}
		s.failed, s.why = 0, nil
	}
	h.Logf("%d of %d in, %d tries failed; p50 %v, last %v", len(all)-int(lost.Load()), len(all), tries, took[len(took)/2], took[len(took)-1])
	if lost.Load() > 0 || tries > 0 {
		h.Errorf("%d did not get in, %d tries failed, such as %v", lost.Load(), tries, why)
	}
	return took
}

// A venue, the customers of a mobile carrier and the clients of a load balancer each share one address. After
// a network failure, all their players reconnect at the same time, and all are back within the window.
// Connections above the limit of the address wait, and are then handled.
// RL-121.
func TestAVenueBehindOneAddressComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := crowdHost(t, nil)
		all := h.crowd(crowdPlayers, "127.0.0.9")
		const window = 30 * time.Second
		h.atOnce(all, window)
		for _, s := range all {
			s.client.Kill()
		}
		h.untilCount("detached", func() int64 { return h.host.Counters().Players.Get(counters.PlayerDetached) }, int64(len(all)))
		// how many connections wait for a full backlog is random
		if took := h.atOnce(all, window); took[len(took)-1] > 15*time.Second {
			t.Errorf("the last was back after %v", took[len(took)-1])
		}
		h.awaitAttached(len(all))
		for why := counters.Refusal(1); why.String() != ""; why++ {
			if n := h.host.Counters().Refused.Get(why); n != 0 {
				t.Errorf("%d refused: %v", n, why)
			}
		}
	})
}

// awaitAttached waits until exactly the given number of players is attached and none is detached.
func (h *testHost) awaitAttached(players int) {
	h.Helper()
	c := h.host.Counters()
	h.untilCount("attached", func() int64 { return c.Players.Get(counters.PlayerAttached) }, int64(players))
	h.untilCount("detached", func() int64 { return c.Players.Get(counters.PlayerDetached) }, 0)
}

// besiege keeps each silent connections open from every one of the addresses 127.0.1.1, 127.0.1.2 and so on,
// until the test ends.
func (h *testHost) besiege(sources, each int) {
	h.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	h.Cleanup(func() { cancel(); wg.Wait() })
	var open atomic.Int64
	for i := range sources * each {
		from := fmt.Sprintf("127.0.%d.%d", 1+i/each/250, 1+i/each%250)
		wg.Go(func() {
			for ctx.Err() == nil {
				nc, err := h.Net.DialFrom(ctx, "tcp", from, h.host.Addrs().WS)
				if err == nil {
					open.Add(1)
					stop := context.AfterFunc(ctx, func() { nc.Close() })
					_, _ = nc.Read(make([]byte, 1))
					stop()
					nc.Close()
				}
				select {
				case <-ctx.Done():
				case <-time.After(100 * time.Millisecond):
				}
			}
		})
	}
	h.untilCount("silent connections", func() int64 { return min(open.Load(), int64(sources*each)) }, int64(sources*each))
}

// Silent connections up to the limit keep no player out who logs in, new or returning.
// RL-122, RL-201.
func TestSilentConnectionsKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 20
		h := crowdHost(t, func(c *host.Config) { c.Limits.Unauthenticated = each * crowdSources })
		back := h.crowd(25, "127.0.0.8")
		h.atOnce(back, patience)
		h.besiege(crowdSources, each)
		enter := func(s *stubborn) {
			t.Helper()
			begun := time.Now()
			if err := s.enter(h, patience); err != nil || s.failed > 0 {
				t.Errorf("%v, %d tries failed, the last: %v", err, s.failed, s.why)
			}
			if took := time.Since(begun); took != 0 {
				t.Errorf("a login took %v", took)
			}
		}
		fresh := h.crowd(25, "127.0.0.7")
		for i, s := range fresh {
			enter(s)
			back[i].client.Kill()
			enter(back[i])
		}
	})
}
