package sim

import (
	"context"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/transporttest/memnet"
	"troupe/transport/transporttest/stock"
)

// These tests are for bugs that others had (reliability.md 10). They run against the complete host, because
// they need an order of events that seeds rarely produce. Packages player and gamesession test the other
// bugs. In addition to what a test checks, all oracles of this package apply.

// scene is a run that a test controls step by step.
type scene struct {
	*run
	t *testing.T
}

// play runs a scene with two players in one game: one of the given flavor, and a v2 player. It calls act when
// both are in. Afterwards it checks the final state.
func play(t *testing.T, first flavor, budget int, act func(s *scene)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &plan{
			window: 5 * time.Second, ping: 2 * time.Second, silence: 4 * time.Second, games: 1, budget: budget,
			flavors: []flavor{first, v2}, refusals: make([]int, 2), paths: memnet.Condition{Delay: 5 * time.Millisecond},
		}
		s := &scene{open(p), t}
		s.do(func() {
			for _, p := range s.players {
				p.enter()
			}
		})
		s.pass(time.Second)
		act(s)
		s.heal()
		s.awaitQuiet()
		s.checkGroups()
		s.checkRecords(true)
		s.close()
		if len(s.failures) > 0 {
			t.Error(s.report())
		}
	})
}

// each runs a scene twice, with a v2 player and with a stock player as the first.
func each(t *testing.T, act func(s *scene)) {
	for _, f := range []flavor{v2, stockish} {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			play(t, f, 0, act)
		})
	}
}

func (s *scene) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func (s *scene) pass(d time.Duration) { s.until(time.Now().Add(d)) }

// lose resets the first player's connection. The player does not reconnect until back is called.
func (s *scene) lose() { s.do(func() { s.players[0].loses(time.Hour) }) }

// back makes the first player reconnect.
func (s *scene) back() { s.do(func() { s.players[0].loses(0) }) }

// attached checks that the first player is in the game, on its connection number least or a later one.
func (s *scene) attached(least int) {
	s.t.Helper()
	s.do(func() {
		p := s.players[0]
		if l := p.dev.link; l == nil || !l.in || l.number < least {
			s.t.Errorf("%v: %v is not in (wanted on connection %d or later)", s.since(time.Now()), p, least)
		}
		if !p.playing() || len(p.presences) != 1 {
			s.t.Errorf("%v: %v is not in its first presence", s.since(time.Now()), p)
		}
	})
}

// The window of a loss ends when the player returns. Its deadline then neither ends an attached player, nor
// shortens the window of a second loss.
func TestAnEarlierWindowDoesNotEndAPlayerThatIsLostAgain(t *testing.T) {
	each(t, func(s *scene) {
		s.lose()
		s.pass(s.plan.window - 100*time.Millisecond)
		s.back()
		s.pass(300 * time.Millisecond) // past the deadline
		s.attached(2)
		for n := range 3 {
			s.lose()
			s.pass(s.plan.window - 500*time.Millisecond)
			s.back()
			s.pass(200 * time.Millisecond)
			s.attached(2*n + 3)
			s.lose()
			s.pass(s.plan.window - 500*time.Millisecond) // past the deadline of the previous loss
			s.back()
			s.pass(200 * time.Millisecond)
			s.attached(2*n + 4)
		}
		s.pass(s.plan.window + time.Second)
		s.attached(8)
	})
}

func TestAStalledHandshakeHoldsUpNobody(t *testing.T) {
	each(t, func(s *scene) {
		const request = "GET /websocket HTTP/1.1\r\nHost: sim\r\nUpgrade: websocket\r\n"
		node := s.net.Node()
		var silent []*memnet.Stream
		for i := range 60 {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			c := sure(node.Dial(ctx, s.host))
			cancel()
			sure(io.WriteString(c, request[:i%len(request)]))
			silent = append(silent, c)
		}
		s.lose()
		s.pass(20 * time.Millisecond)
		s.back()
		s.pass(50 * time.Millisecond)
		s.attached(2)
		for _, c := range silent {
			c.Reset()
		}
	})
}

// A close frame 1000 that crosses the host's close 4009 is not a leave. The player is detached and then
// removed, because its queue is full. It cannot rejoin, whichever of the two was sent first.
func TestALeaveThatCrossesASlowConsumersClose(t *testing.T) {
	// The messages need 5 ms to reach the host, which then closes the connection.
	for _, before := range []time.Duration{2 * time.Millisecond, 8 * time.Millisecond} {
		t.Run(before.String(), func(t *testing.T) {
			t.Parallel()
			play(t, v2, 5, func(s *scene) {
				p := s.players[0]
				s.do(func() {
					p.broken()
					p.dev.link.slowTill = time.Now().Add(time.Second)
					for range 40 {
						s.players[1].dev.say(int32(p.peer), 0)
					}
				})
				s.pass(before)
				s.do(func() { s.perform(step{player: 0, do: leave, d: 4 * time.Second}) })
				s.pass(6 * time.Second)
				s.do(func() {
					if p.playing() || p.wants || s.seen["detached"] != 1 || s.seen["disconnect"] != 1 || s.seen["refused"] == 0 {
						s.t.Errorf("%v: in the game: %v; wants to be: %v; seen %v", p, p.playing(), p.wants, s.seen)
					}
				})
			})
		})
	}
}

// The limit on messages per second applies to all connections of a player together, not only to the first.
func TestAPlayerThatResumesKeepsItsLimits(t *testing.T) {
	each(t, func(s *scene) {
		const messages = 700 // the host accepts 400 immediately, then 200 a second
		routed := func() (n int) {
			s.do(func() { n = s.seen["routed"] })
			return n
		}
		for range 2 {
			s.do(func() { s.players[0].dev.dial() })
			s.pass(200 * time.Millisecond)
			before := routed()
			s.do(func() {
				for range messages {
					s.players[0].dev.say(stock.ServerID, 0)
				}
			})
			s.pass(time.Second)
			if n := routed() - before; n < 400 || n > 650 {
				s.t.Errorf("%d of %d messages were handled in the first second", n, messages)
			}
			s.pass(5 * time.Second)
			if n := routed() - before; n != messages {
				s.t.Errorf("%d of %d messages were handled", n, messages)
			}
		}
	})
}
