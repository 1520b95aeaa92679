package client

import (
	"flag"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// TestFlappingLink limits the median and the longest time to reconnect on a link that breaks
// again and again. A login takes a millisecond.
func TestFlappingLink(t *testing.T) {
	for name, c := range map[string]struct {
		up        func(n int) time.Duration // how long the nth connection lasts
		down      time.Duration             // how long after that no connection is possible
		p50, p100 time.Duration
	}{
		"every two seconds": {func(int) time.Duration { return 2 * time.Second }, 0, 25 * time.Millisecond, 110 * time.Millisecond},
		"now and then":      {func(n int) time.Duration { return time.Duration(n%7) * 1500 * time.Millisecond }, 0, 25 * time.Millisecond, 110 * time.Millisecond},
		"every half second": {func(int) time.Duration { return 500 * time.Millisecond }, 0, 120 * time.Millisecond, time.Second},
		"down for a moment": {func(int) time.Duration { return 2 * time.Second }, 150 * time.Millisecond, 250 * time.Millisecond, time.Second},
		"down for a second": {func(int) time.Duration { return 5 * time.Second }, time.Second, 1500 * time.Millisecond, 2500 * time.Millisecond},
	} {
		withNamed(t, name, func(t *testing.T, h *fakeHost) {
			var after []time.Duration
			cl := h.dial(Options{EventsMax: 1 << 12, OnReconnected: func(r Reconnected) { after = append(after, r.After) }})
			defer cl.Close()
			h.enter = func(_ int, l *hostLink) *wire.LoginResult { l.late = time.Millisecond; return nil }
			for n := range 200 {
				pass(c.up(n))
				h.mu.Lock()
				if c.down > 0 {
					h.down = map[Transport]error{WS: errUnreachable}
				}
				h.mu.Unlock()
				h.last().cut()
				pass(c.down)
				h.mu.Lock()
				h.down = nil
				h.mu.Unlock()
				for !cl.Attached() {
					pass(time.Millisecond)
				}
			}
			slices.Sort(after)
			p50, worst := after[len(after)/2], after[len(after)-1]
			t.Logf("back %d times: p50 %v, p99 %v, at worst %v", len(after), p50, after[len(after)*99/100], worst)
			if len(after) != 200 || p50 > c.p50 || worst > c.p100 {
				t.Errorf("want p50 %v and at worst %v", c.p50, c.p100)
			}
		})
	}
}

// TestDroppedAtOnce checks that a client slows down its attempts if the host accepts each login but drops the connection at once.
func TestDroppedAtOnce(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		cl := h.dial(Options{EventsMax: 1 << 12})
		defer cl.Close()
		h.last().cut()
		for range 6000 {
			pass(10 * time.Millisecond)
			h.last().cut()
		}
		if _, logins := h.counts(); logins < 60 || logins > 60*5 {
			t.Errorf("%d logins in a minute", logins)
		}
	})
}

var crowdSize = flag.Int("client.crowd", 300, "how many players are lost at once in TestStorm")

// crowd is a host that admits a limited number of logins per second. It tells other clients when to try again.
type crowd struct {
	mu      sync.Mutex
	dials   []time.Time
	perSec  int
	queue   int       // how many logins may wait
	nextOut time.Time // when the queue will be empty
}

// enter returns the answer to a login.
func (w *crowd) enter(_ int, l *hostLink) *wire.LoginResult {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.dials = append(w.dials, now)
	if w.nextOut.Before(now) {
		w.nextOut = now
	}
	if wait := w.nextOut.Sub(now); wait > time.Duration(w.queue)*time.Second/time.Duration(w.perSec) {
		return &wire.LoginResult{Caps: wire.CapNumbers, RetryAfterMs: uint64(wait.Milliseconds())}
	}
	w.nextOut = w.nextOut.Add(time.Second / time.Duration(w.perSec))
	l.late = w.nextOut.Sub(now)
	return nil
}

// peak returns the largest number of attempts within any period of length d that begins after since.
func (w *crowd) peak(since time.Time, d time.Duration) (most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, first := 0, 0; i < len(w.dials); i++ {
		if w.dials[i].Before(since) {
			first = i + 1
			continue
		}
		for w.dials[i].Sub(w.dials[first]) > d {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// TestStorm checks that many players who lose their connections at the same time come back at the rate that the host allows.
// Clients that were told when to try again must not all come at the same moment. No client may ask much more often than needed.
// RL-121.
func TestStorm(t *testing.T) {
	players := *crowdSize
	perSec, queue := players/4, players/8
	for name, c := range map[string]struct {
		lose   func(l *hostLink)
		second int // limit of the attempts in any 100 ms after the first 300 ms
	}{
		"the network":      {(*hostLink).cut, players / 3}, // about 65 of 300, by chance
		"the host says so": {func(l *hostLink) { l.bye(messages.CloseGoingAway) }, players * 3 / 4},
	} {
		bubble(t, name, func(t *testing.T) {
			w := &crowd{perSec: perSec, queue: queue}
			var hosts []*fakeHost
			var all []*Client
			for range players {
				h := newFakeHost(t)
				all = append(all, h.dial(Options{EventsMax: 16}))
				h.enter = w.enter
				hosts = append(hosts, h)
			}
			lost := time.Now()
			for _, h := range hosts {
				c.lose(h.last())
			}
			synctest.Wait()
			back := time.Duration(0)
			for _, cl := range all {
				for !cl.Attached() {
					if isClosed(cl.Done()) {
						t.Fatalf("gave up: %v", cl.End().Err)
					}
					pass(10 * time.Millisecond)
				}
				back = max(back, time.Since(lost))
			}
			w.mu.Lock()
			dials := len(w.dials)
			w.mu.Unlock()
			later := w.peak(lost.Add(300*time.Millisecond), 100*time.Millisecond)
			t.Logf("all back after %v with %d logins; at most %d in 100 ms, later %d", back, dials, w.peak(lost, 100*time.Millisecond), later)
			if least := time.Duration(players) * time.Second / time.Duration(perSec); back > 3*least {
				t.Errorf("all back after %v, the host could do it in %v", back, least)
			}
			if dials > 4*players || later > c.second {
				t.Errorf("%d logins of %d players, at most %d in 100 ms", dials, players, later)
			}
			for _, cl := range all {
				cl.Abort()
			}
		})
	}
}
