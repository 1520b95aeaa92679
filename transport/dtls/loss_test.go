package dtls

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
)

// A handshake succeeds on a network that loses, repeats and delays a third of all datagrams. This holds for full and
// resumed handshakes. The test's name has the seed.
func TestAHandshakeGetsThroughABadNetwork(t *testing.T) {
	seeds := uint64(30)
	if testing.Short() {
		seeds = 6
	}
	for seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			inNetwork(t, func(o *Options, _ *acceptAll) { o.Timeout = time.Minute }, func(t *testing.T, h *network, s *server) {
				dice := rand.New(rand.NewPCG(seed, 1))
				h.pass = func(bool, []byte) int {
					switch n := dice.IntN(100); {
					case n < 30:
						return 0
					case n < 40:
						return 2
					}
					return 1
				}
				sessions := NewSessions()
				for round := range 3 {
					c := s.dialFrom(h, fmt.Sprintf("10.0.0.2:%d", 5000+round), func(o *DialOptions) { o.Sessions = sessions })
					var peer *inbox
					for peer == nil || len(peer.got) == 0 { // until a record arrives
						c.a.Write([]byte("x"))
						time.Sleep(50 * time.Millisecond)
						select {
						case peer = <-s.new:
						default:
						}
					}
					for len(c.got) == 0 {
						peer.a.Write([]byte("y"))
						time.Sleep(50 * time.Millisecond)
					}
				}
				if n := s.count.Handshakes.Get(counters.HandshakeResumed); n == 0 {
					t.Error("nothing was resumed")
				}
				h.mu.Lock()
				h.pass = nil
				h.mu.Unlock()
				s.Close()
				time.Sleep(time.Minute)
			})
		})
	}
}

// A client that gets no answer sends its hello less and less often, so it does not flood a busy host.
func TestAHelloThatIsNotAnsweredIsRepeatedLessAndLess(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		hellos := 0
		h.pass = func(bool, []byte) int { hellos++; return 0 }
		if s.tryDial(12*time.Second, func(o *DialOptions) { o.Conn = h.enter(alice) }) == nil {
			t.Error("a handshake without a network")
		}
		if hellos < 21 || hellos > 27 { // the first and 6 quick ones, then one every 600 to 750 ms
			t.Errorf("%d hellos in 12 s", hellos)
		}
	})
}

// When a handshake is complete, the library is closed, so the association resends the last flight. Here the flight is lost twice.
func TestALostLastFlightIsSentAgain(t *testing.T) {
	for _, resumed := range []bool{false, true} {
		t.Run(fmt.Sprint("resumed ", resumed), func(t *testing.T) {
			inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
				sessions := NewSessions()
				with := func(o *DialOptions) { o.Sessions = sessions }
				if resumed {
					s.dialFrom(h, "10.0.0.3:1", with).a.Write([]byte("x"))
					await(t, s.new)
				}
				lost := 0
				h.pass = func(fromServer bool, b []byte) int {
					if r, _, drop := nextRecord(b); drop == 0 && r.typ == changeCipherSpec && fromServer != resumed && lost < 2 {
						lost++
						return 0
					}
					return 1
				}
				started := time.Now()
				c := s.dialFrom(h, alice, with)
				if resumed { // the client has completed the handshake, the server has not
					c.a.Write([]byte("early"))
				}
				peer := await(t, s.new)
				if took := time.Since(started); took > 2*time.Second || lost != 2 {
					t.Errorf("took %v, %d lost", took, lost)
				}
				if !resumed {
					c.a.Write([]byte("early"))
				}
				if got := await(t, peer.got); string(got) != "early" {
					t.Errorf("%q", got)
				}
				talks(t, c, peer)
				if peer.a.flight != nil {
					t.Error("the last flight is kept for ever")
				}
				s.Close()
			})
		})
	}
}

func TestAClientRefusesAHostItDoesNotTrust(t *testing.T) {
	inNetwork(t, func(o *Options, _ *acceptAll) { o.Timeout = time.Second }, func(t *testing.T, h *network, s *server) {
		for what, c := range map[string]struct {
			change func(o *DialOptions)
			addr   string
		}{
			"unknown authority": {func(o *DialOptions) { o.Roots = nil }, "10.0.0.2:1"},
			"not elsewhere":     {func(o *DialOptions) { o.ServerName = "elsewhere" }, "10.0.0.3:1"},
			"any IP SANs":       {func(o *DialOptions) { o.ServerName = "10.0.0.1" }, "10.0.0.4:1"},
		} {
			started := time.Now()
			err := s.tryDial(30*time.Second, func(o *DialOptions) { o.Conn = h.enter(c.addr); c.change(o) })
			if took := time.Since(started); err == nil || !strings.Contains(err.Error(), what) || took > 0 {
				t.Errorf("%s: %v after %v", what, err, took)
			}
		}
		time.Sleep(time.Second) // until the host is notified or times out
		synctest.Wait()
		if n, st := s.count.Handshakes.Total(), s.Stats(); n != 3 || st.HalfOpen != 0 {
			t.Errorf("%d handshakes that came to nothing, %+v", n, st)
		}
	})
}

func TestADialEndsWithItsContext(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		h.pass = func(bool, []byte) int { return 0 }
		started := time.Now()
		err := s.tryDial(3*time.Second, func(o *DialOptions) { o.Conn = h.enter(alice) })
		if err == nil || time.Since(started) != 3*time.Second {
			t.Errorf("%v after %v", err, time.Since(started))
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := Dial(ctx, DialOptions{Conn: h.enter(alice), ServerName: "localhost"}, func(a *Association) Handler { return newInbox(a) }); err == nil {
			t.Error("dialled with a context that has ended")
		}
		s.Close()
	})
}

// A handshake with a host that answers late continues. A handshake with a silent host ends.
func TestADialEndsWithASilentHost(t *testing.T) {
	inNetwork(t, nil, func(t *testing.T, h *network, s *server) {
		const silence = 3 * time.Second
		dial := func() (time.Duration, error) {
			started := time.Now()
			err := s.tryDial(time.Minute, func(o *DialOptions) { o.Conn, o.SilenceMax = h.enter(alice), silence })
			return time.Since(started), err
		}
		h.pass = func(bool, []byte) int { return 0 }
		if took, err := dial(); !errors.Is(err, os.ErrDeadlineExceeded) || took != silence {
			t.Errorf("silent: %v after %v", err, took)
		}
		last := time.Now()
		h.pass = func(fromHost bool, _ []byte) int {
			if fromHost && time.Since(last) < silence/2 {
				return 0
			}
			if fromHost {
				last = time.Now()
			}
			return 1
		}
		if took, err := dial(); err != nil || took <= silence {
			t.Errorf("late: %v after %v", err, took)
		}
		s.Close()
	})
}

// Records arrive in random order and repeatedly. The window must accept each number once.
func TestTheWindowKnowsWhatItHasSeen(t *testing.T) {
	dice := rand.New(rand.NewPCG(7, 7))
	var w window
	seen := map[uint64]bool{}
	top := uint64(0)
	for range 200_000 {
		n := top + uint64(dice.IntN(8))
		if back := uint64(dice.IntN(2 * windowSize)); dice.IntN(2) == 0 && back < n {
			n -= back
		}
		if dice.IntN(5000) == 0 {
			n += windowSize * uint64(1+dice.IntN(3))
		}
		fresh := w.fresh(n)
		if seen[n] && fresh {
			t.Fatalf("%d twice", n)
		}
		if !seen[n] && !fresh && n+windowSize > top {
			t.Fatalf("%d refused, it is new and within the window (top %d)", n, top)
		}
		if fresh {
			w.note(n)
			seen[n] = true
			top = max(top, n+1)
		}
	}
}
