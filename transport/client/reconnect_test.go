package client

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// with runs a test of a client and a fakeHost in virtual time.
func with(t *testing.T, test func(t *testing.T, h *fakeHost)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newFakeHost(t)) })
}

// bubble runs a subtest in virtual time. withNamed also gives it a fakeHost.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

func withNamed(t *testing.T, name string, test func(t *testing.T, h *fakeHost)) {
	bubble(t, name, func(t *testing.T) { test(t, newFakeHost(t)) })
}

// pass waits for d and until everything that is due has happened.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func talk(t *testing.T, c *Client, text string) {
	t.Helper()
	if err := c.Send(t.Context(), Message{OpCode: 1, TargetPlayer: Server, Payload: []byte(text)}); err != nil {
		t.Fatal(err)
	}
}

// events returns the queued events, one word for each. When a client has ended, the channel is
// closed by a goroutine some time after Done.
func events(c *Client) (all []string) {
	synctest.Wait()
	for {
		select {
		case e, ok := <-c.Events():
			if !ok {
				return append(all, "end")
			}
			text := e.Kind.String()
			if e.Kind == EventMessage {
				text = string(e.Payload)
			}
			all = append(all, text)
		default:
			return all
		}
	}
}

func want(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestReconnects checks that a client whose connection breaks reconnects by itself, in one round trip. No message is
// lost or delivered twice, and the program is notified.
func TestReconnects(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		var called []string
		c := h.dial(Options{
			OnDetached:    func(e End) { called = append(called, "detached: "+e.String()) },
			OnReconnected: func(r Reconnected) { called = append(called, fmt.Sprintf("%+v", r)) },
		})
		pass(10 * time.Second)
		talk(t, c, "a")
		h.say("A")
		synctest.Wait()
		h.down = map[Transport]error{WS: errUnreachable}
		h.last().cut()
		synctest.Wait()
		if c.Attached() || c.FastErr() != nil || c.FastUp() {
			t.Error("attached")
		}
		talk(t, c, "b")
		h.say("B")
		pass(time.Second)
		h.mu.Lock()
		h.down = nil
		h.mu.Unlock()
		pass(10 * time.Second)
		talk(t, c, "c")
		synctest.Wait()
		want(t, "the host", h.heard(), "a", "b", "c")
		want(t, "the player", events(c), "A", "detached", "reconnected", "B")
		if l := h.logins[1]; l.ReconnectToken != "token-1" || l.LastReceived != 1 {
			t.Errorf("login %+v", l)
		}
		if len(called) != 2 || !strings.HasPrefix(called[0], "detached: connection lost") || !strings.Contains(called[1], "Replayed:0 Lost:0 PeerID:7") {
			t.Errorf("called %q", called)
		}
		if s := c.Stats(); s.Reconnects != 1 || s.Replayed != 0 || s.Duplicates != 0 || s.Gaps != 0 {
			t.Errorf("stats %+v", s)
		}
		c.Close()
		if how := h.last().how; how != "close" || !c.End().Local {
			t.Errorf("ended by %s: %s", how, c.End())
		}
	})
}

// TestExactlyOnceThroughLosses checks that many messages in both directions arrive exactly once over a network that keeps breaking.
func TestExactlyOnceThroughLosses(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		const count = 3000
		c := h.dial(Options{SendBufferMessages: 50, Transport: Auto})
		var heard []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for e := range c.Events() {
				if e.Kind == EventMessage {
					heard = append(heard, string(e.Payload))
				}
			}
		}()
		for i := range count {
			text := fmt.Sprint(i)
			for err := ErrBufferFull; errors.Is(err, ErrBufferFull); {
				if err = c.Send(t.Context(), Message{OpCode: 1, TargetPlayer: Server, Payload: []byte(text)}); err != nil {
					pass(time.Second)
				}
			}
			h.say(text)
			switch rand.IntN(60) {
			case 0:
				h.last().cut()
			case 1:
				h.last().bye(messages.CloseWriteTimeout)
			case 2:
				c.NetworkChanged()
			case 3:
				pass(time.Duration(rand.IntN(1000)) * time.Millisecond)
			case 4:
				if err := c.Move(t.Context(), []Transport{WS, WSS, KCP, Auto}[rand.IntN(4)]); err != nil && !errors.Is(err, ErrDetached) {
					t.Log(err)
				}
			}
		}
		pass(time.Minute)
		c.Close()
		<-done
		for i := range count {
			if i >= len(heard) || heard[i] != fmt.Sprint(i) {
				t.Fatalf("the player: message %d of %d: %q", i, len(heard), heard[max(0, i-1):min(i+2, len(heard))])
			}
			if got := h.got; i >= len(got) || got[i] != fmt.Sprint(i) {
				t.Fatalf("the host: message %d of %d", i, len(got))
			}
		}
		if len(heard) != count || len(h.got) != count {
			t.Errorf("the player has %d, the host %d", len(heard), len(h.got))
		}
		if s := c.Stats(); s.Reconnects == 0 || s.Replayed == 0 {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestSendWhileDetached checks that the send buffer is limited, and that fast messages are dropped and counted.
func TestSendWhileDetached(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{SendBufferMessages: 2, Fast: true})
		if c.Outage(10 * time.Second); c.Attached() {
			t.Error("attached during the outage")
		}
		synctest.Wait()
		talk(t, c, "a")
		if err := c.Send(t.Context(), Message{OpCode: 1, TargetPlayer: Server, Intent: Fast}); err != nil {
			t.Error(err)
		}
		talk(t, c, "b")
		if err := c.Send(t.Context(), Message{OpCode: 1, TargetPlayer: Server}); err != ErrBufferFull {
			t.Errorf("the third message: %v", err)
		}
		if err := c.Move(t.Context(), WSS); !errors.Is(err, ErrDetached) {
			t.Errorf("move: %v", err)
		}
		pass(11 * time.Second)
		want(t, "the host", h.heard(), "a", "b")
		if s := c.Stats(); s.Fast.Unsent != 1 || !c.FastUp() {
			t.Errorf("stats %+v", s)
		}
		c.Close()
		if err := c.Send(t.Context(), Message{OpCode: 1, TargetPlayer: Server}); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		if err := c.Move(t.Context(), WSS); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
	})
}

// The delay of the first attempt depends on how the connection was lost.
func TestTheDelayOfAnAttemptDependsOnTheLoss(t *testing.T) {
	for name, c := range map[string]struct {
		lasted      time.Duration
		lose        func(h *fakeHost, c *Client)
		least, most time.Duration
	}{
		"an accident":     {10 * time.Second, func(h *fakeHost, c *Client) { h.last().cut() }, 0, reconnectDelayDefault},
		"soon":            {time.Second, func(h *fakeHost, c *Client) { h.last().cut() }, 0, reconnectDelayDefault},
		"later":           {10 * time.Second, func(h *fakeHost, c *Client) { h.last().bye(messages.CloseTooFast) }, laterMin, 2 * laterMin},
		"network changed": {time.Second, func(h *fakeHost, c *Client) { c.NetworkChanged() }, 0, 0},
		"outage":          {time.Second, func(h *fakeHost, c *Client) { c.Outage(7 * time.Second) }, 7 * time.Second, 7 * time.Second},
	} {
		withNamed(t, name, func(t *testing.T, h *fakeHost) {
			cl := h.dial(Options{})
			defer cl.Close()
			pass(c.lasted)
			lost := time.Now()
			c.lose(h, cl)
			pass(20 * time.Second)
			if dials, _ := h.counts(); dials != 2 {
				t.Fatalf("%d dials", dials)
			}
			if after := h.at[1].Sub(lost); after < c.least || after > c.most {
				t.Errorf("after %v", after)
			}
		})
	}
}

// TestNetworkBackTooEarly checks that a program that reports a new network does not shorten a wait that the host has
// asked for. This holds for the current wait and for the one after the next loss.
func TestNetworkBackTooEarly(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		const asked = 10 * time.Second
		const ages = 20 * time.Second
		c := h.dial(Options{Reconnect: Reconnect{Delay: ages, DelayMax: ages, GiveUpAfter: time.Hour}})
		defer c.Close()
		h.enter = func(n int, _ *hostLink) *wire.LoginResult {
			if n == 2 {
				return &wire.LoginResult{Caps: wire.CapNumbers, RetryAfterMs: uint64(asked.Milliseconds())}
			}
			return nil
		}
		c.NetworkChanged() // causes an attempt at once, which is refused
		pass(time.Second)
		for range 3 {
			c.NetworkChanged()
			pass(time.Second)
		}
		pass(asked)
		if len(h.at) != 3 || h.at[2].Sub(h.at[1]) != asked || !c.Attached() {
			t.Fatalf("attempts at %v", h.at)
		}
		c.nudge <- struct{}{} // as if a nudge had arrived while a successful attempt was starting
		h.last().bye(messages.CloseTryLater)
		synctest.Wait()
		if len(c.nudge) != 0 || c.Attached() {
			t.Error("the next absence begins with a nudge")
		}
	})
}

// TestOutageWhileLoggingIn checks that a login that is answered at the moment an outage begins does not
// attach the player before the outage is over.
func TestOutageWhileLoggingIn(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{Reconnect: Reconnect{GiveUpAfter: time.Hour}})
		defer c.Close()
		h.enter = func(n int, l *hostLink) *wire.LoginResult {
			if n == 2 {
				c.Outage(time.Minute)
				l.cn.onUnit(unitOf(wire.NewLoginResult(&wire.LoginResult{
					Success: true, PeerID: 7, Caps: wire.CapNumbers, Outcome: wire.OutcomeResumed,
				})))
				return &wire.LoginResult{}
			}
			return nil
		}
		h.last().cut()
		pass(59 * time.Second)
		if c.Attached() {
			t.Error("attached during the outage")
		}
		pass(time.Minute)
		if dials, _ := h.counts(); dials != 3 || !c.Attached() {
			t.Errorf("%d dials, attached %v", dials, c.Attached())
		}
	})
}

// TestGivesUp checks how long attempts continue: for the host's window plus a margin, or as long as
// the program has set. Then the Client ends.
func TestGivesUp(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second, time.Hour} {
		with(t, func(t *testing.T, h *fakeHost) {
			h.window = 10 * time.Second
			c := h.dial(Options{Reconnect: Reconnect{GiveUpAfter: after}})
			h.down = map[Transport]error{WS: errUnreachable}
			lost := time.Now()
			h.last().cut()
			<-c.Done()
			synctest.Wait()
			want := after
			if want == 0 {
				want = h.window + windowMargin
			}
			if took := time.Since(lost); took != want {
				t.Errorf("gave up after %v, want %v", took, want)
			}
			end := c.End()
			if !errors.Is(end.Err, ErrGaveUp) || !errors.Is(end.Err, errUnreachable) || end.Retry() != messages.RetryNever || end.Local {
				t.Errorf("end %s", end)
			}
			wantEvents := events(c)
			if !slices.Equal(wantEvents, []string{"detached", "end"}) {
				t.Errorf("events %q", wantEvents)
			}
			if err := c.Send(t.Context(), Message{OpCode: 1, TargetPlayer: Server}); !errors.Is(err, ErrClosed) {
				t.Errorf("send: %v", err)
			}
			dials, _ := h.counts()
			if most := 5 + int(want/time.Second); after < time.Hour && dials > 6*most {
				t.Errorf("%d dials in %v", dials, want)
			}
		})
	}
}

// The host's answer to an attempt decides whether and when there is another attempt.
func TestTheHostsAnswerDecidesAboutTheNextAttempt(t *testing.T) {
	for name, c := range map[string]struct {
		enter  func(n int, l *hostLink) *wire.LoginResult
		logins int
		least  time.Duration
		end    error // nil if the client reconnects
	}{
		"refused": {func(n int, l *hostLink) *wire.LoginResult { return &wire.LoginResult{} }, 2, 0, ErrRefused},
		"not yet": {func(n int, l *hostLink) *wire.LoginResult {
			if n < 4 {
				return &wire.LoginResult{Caps: wire.CapNumbers, RetryAfterMs: 2000}
			}
			return nil
		}, 4, 4 * time.Second, nil},
		"try later": {func(n int, l *hostLink) *wire.LoginResult {
			if n == 2 {
				l.bye(messages.CloseTryLater)
				return &wire.LoginResult{}
			}
			return nil
		}, 3, time.Second, nil},
		"not resumed": {func(n int, l *hostLink) *wire.LoginResult {
			return &wire.LoginResult{Success: true, PeerID: 7, Caps: wire.CapNumbers}
		}, 2, 0, errNotResumed},
	} {
		withNamed(t, name, func(t *testing.T, h *fakeHost) {
			h.enter = func(n int, l *hostLink) *wire.LoginResult {
				if n == 1 {
					return nil
				}
				return c.enter(n, l)
			}
			cl := h.dial(Options{})
			defer cl.Abort()
			pass(10 * time.Second)
			lost := time.Now()
			h.last().cut()
			pass(29 * time.Second)
			if _, logins := h.counts(); logins != c.logins {
				t.Errorf("%d logins", logins)
			}
			if c.end == nil {
				if !cl.Attached() || h.at[len(h.at)-1].Sub(lost) < c.least {
					t.Errorf("attached %v after %v", cl.Attached(), h.at[len(h.at)-1].Sub(lost))
				}
				return
			}
			if !errors.Is(cl.End().Err, c.end) || !errors.Is(cl.End().Err, ErrGaveUp) {
				t.Errorf("end %+v", cl.End())
			}
		})
	}
}

// TestDialAsksAgain checks that Dial tries again if the host asks for that.
func TestDialAsksAgain(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		h.enter = func(n int, _ *hostLink) *wire.LoginResult {
			if n < 3 {
				return &wire.LoginResult{Caps: wire.CapNumbers, RetryAfterMs: 3000}
			}
			return nil
		}
		began := time.Now()
		c := h.dial(Options{})
		if took := time.Since(began); took < 6*time.Second || took > 8*time.Second {
			t.Errorf("took %v", took)
		}
		c.Close()
		h.enter = func(int, *hostLink) *wire.LoginResult {
			return &wire.LoginResult{Caps: wire.CapNumbers, RetryAfterMs: 60_000}
		}
		began = time.Now()
		o := c.o
		_, err := dial(t.Context(), &o, h.open)
		var refused *RefusedError
		if !errors.As(err, &refused) || refused.RetryAfter != time.Minute || !errors.Is(err, ErrRefused) || time.Since(began) != 0 {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}

// An abandoned login of the client reaches the host late and takes over the current connection. That is a loss, not the
// end. A takeover by another device is the end.
func TestALateLoginOfTheClientItselfIsNotTheEnd(t *testing.T) {
	for _, late := range []time.Duration{100 * time.Millisecond, abandonedLoginMax} {
		with(t, func(t *testing.T, h *fakeHost) {
			c := h.dial(Options{})
			defer c.Close()
			old := h.last()
			h.enter = func(n int, l *hostLink) *wire.LoginResult {
				if n == 2 {
					l.late = 5 * time.Second
				}
				return nil
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := c.Move(ctx, KCP); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("move: %v", err)
			}
			pass(late)
			old.bye(messages.CloseTakenOver)
			pass(time.Minute)
			if late >= abandonedLoginMax {
				want(t, "the player", events(c), "end")
				return
			}
			h.say("A")
			synctest.Wait()
			want(t, "the player", events(c), "detached", "reconnected", "A")
		})
	}
}

// TestAutoComesBack checks that Auto reconnects over the transport that worked last, or over the other one if that fails.
func TestAutoComesBack(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{Transport: Auto})
		for _, down := range []map[Transport]error{nil, {KCP: nil}, nil, {WSS: errUnreachable}} {
			h.mu.Lock()
			h.down = down
			h.mu.Unlock()
			h.last().cut()
			pass(20 * time.Second)
		}
		if want := []Transport{KCP, KCP, KCP, WSS, WSS, WSS, KCP}; !slices.Equal(h.dials, want) {
			t.Errorf("dials %v, want %v", h.dials, want)
		}
		c.Close()
	})
}

// TestAckTimes checks that an ack is sent after 16 packets or 200 ms, and that no ack follows it.
func TestAckTimes(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{})
		defer c.Close()
		began := time.Now()
		for i := range acksMax {
			h.say(fmt.Sprint(i))
		}
		synctest.Wait()
		h.say("one more")
		pass(time.Minute)
		var at []time.Duration
		for _, when := range h.gotAt {
			at = append(at, when.Sub(began))
		}
		if want := []time.Duration{0, ackDelay}; !slices.Equal(at, want) {
			t.Errorf("acks at %v, want %v", at, want)
		}
		if h.n.out.count != 0 || c.ackArmed {
			t.Errorf("%d not acknowledged, timer armed %v", h.n.out.count, c.ackArmed)
		}
	})
}

// TestGap checks that a gap is reported at its position in the order of messages.
func TestGap(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		var lost uint64
		c := h.dial(Options{OnGap: func(g Gap) { lost = g.Lost }})
		h.say("A")
		synctest.Wait()
		c.Outage(time.Second)
		synctest.Wait()
		for _, text := range []string{"B", "C", "D"} {
			h.say(text)
		}
		h.mu.Lock()
		h.forget = 2
		h.mu.Unlock()
		pass(2 * time.Second)
		want(t, "the player", events(c), "A", "detached", "reconnected", "gap", "D")
		if s := c.Stats(); lost != 2 || s.Gaps != 1 || s.Lost != 2 {
			t.Errorf("lost %d, stats %+v", lost, s)
		}
		c.Close()
	})
}

// A wrong number from the host ends the connection, but not the Client.
func TestAWrongNumberEndsTheConnectionOnly(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{})
		h.last().units <- wire.AppendMessage(nil, &wire.Header{OpCode: 9, Sender: Server, TargetPlayer: 7, Reliable: true, RelSeq: 5})
		pass(10 * time.Second)
		e := <-c.Events()
		if e.Kind != EventDetached || !errors.Is(e.Detached.Err, errNumbers) {
			t.Errorf("got %+v", e)
		}
		h.say("A")
		synctest.Wait()
		want(t, "the player", events(c), "reconnected", "A")
		c.Close()
	})
}

// Repeated wrong numbers end the Client, unless messages arrive in between.
func TestRepeatedWrongNumbersEndTheClient(t *testing.T) {
	for name, violate := range map[string]func(l *hostLink){
		"the host's": func(l *hostLink) {
			l.units <- wire.AppendMessage(nil, &wire.Header{OpCode: 9, Sender: Server, RelSeq: 1 << 40})
		},
		"said to ours": func(l *hostLink) { l.bye(messages.CloseOutOfOrder) },
	} {
		withNamed(t, name, func(t *testing.T, h *fakeHost) {
			c := h.dial(Options{})
			defer c.Abort()
			for i := range 3 * violationsMax {
				if i%2 == 0 {
					h.say("A")
				} else {
					talk(t, c, "a")
				}
				pass(time.Second)
				violate(h.last())
				pass(10 * time.Second)
			}
			for i := range violationsMax - 1 {
				if !c.Attached() {
					t.Fatalf("ended after %d: %s", i, c.End())
				}
				violate(h.last())
				pass(10 * time.Second)
			}
			if end := c.End(); !errors.Is(end.Err, errNumbers) || !errors.Is(end.Err, ErrGaveUp) || end.Retry() != messages.RetryNever {
				t.Errorf("end %+v", end)
			}
		})
	}
}

// At a host that does not number messages, the player session id and the token resume the player.
func TestReconnectAtAHostWithoutNumbers(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		h.caps = 0
		c := h.dial(Options{})
		talk(t, c, "a")
		synctest.Wait()
		c.Outage(time.Second)
		synctest.Wait()
		talk(t, c, "b")
		pass(2 * time.Second)
		talk(t, c, "c")
		h.say("A")
		synctest.Wait()
		want(t, "the host", h.heard(), "a", "b", "c")
		want(t, "the player", events(c), "detached", "reconnected", "A")
		if l := h.logins[1]; l.ReconnectToken != "token-1" || l.LastReceived != 0 {
			t.Errorf("login %+v", l)
		}
		c.Close()
	})
}

// TestRoomWithoutNumbers checks that a message to a host that does not number messages leaves the send buffer as soon
// as it is written, while the writer continues.
func TestRoomWithoutNumbers(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		h.caps = 0
		c := h.dial(Options{SendBufferMessages: 2})
		l := h.last()
		l.turns = make(chan struct{})
		talk(t, c, "a") // the writer has taken it and is blocked
		synctest.Wait()
		talk(t, c, "b")
		talk(t, c, "c")
		sent := false
		go func() {
			talk(t, c, "d")
			sent = true
		}()
		synctest.Wait()
		if sent {
			t.Error("there is room too early")
		}
		l.turns <- struct{}{}
		synctest.Wait()
		if !sent {
			t.Error("there is no room")
		}
		close(l.turns)
		c.Close()
		want(t, "the host", h.heard(), "a", "b", "c", "d")
	})
}

// TestEndsWhileDetached checks that Close and Abort end the reconnecting, in any state of an attempt.
func TestEndsWhileDetached(t *testing.T) {
	for _, end := range []func(*Client){(*Client).Close, (*Client).Abort} {
		for _, down := range []map[Transport]error{{WS: nil}, {WS: errUnreachable}} {
			with(t, func(t *testing.T, h *fakeHost) {
				c := h.dial(Options{})
				pass(10 * time.Second)
				h.down = down
				h.last().cut()
				pass(100 * time.Millisecond)
				began := time.Now()
				end(c)
				if !c.End().Local || time.Since(began) != 0 {
					t.Errorf("end %s after %v", c.End(), time.Since(began))
				}
				want(t, "the player", events(c), "detached", "end")
			})
		}
	}
}

// An abandoned attempt does not become the current connection, even if the host has accepted its login.
func TestAnAnswerAfterTheAttemptDoesNotAttach(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{})
		h.enter = func(n int, l *hostLink) *wire.LoginResult {
			if n == 2 {
				l.late = attemptFirst + time.Second
			}
			return nil
		}
		h.last().cut()
		pass(10 * time.Second)
		talk(t, c, "a")
		synctest.Wait()
		want(t, "the host", h.heard(), "a")
		if _, logins := h.counts(); logins != 3 || h.logins[2].ReconnectToken != "token-1" || h.links[1].how != "abort" {
			t.Errorf("%d logins, %+v", logins, h.logins)
		}
		c.Close()
	})
}

// TestALateAnswerOverKCPAttaches: a busy host answers a login late. The client must wait,
// because a new attempt would make the host busier.
func TestALateAnswerOverKCPAttaches(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{Transport: KCP})
		h.enter = func(n int, l *hostLink) *wire.LoginResult {
			if n == 2 {
				l.late = 3 * attemptFirst
			}
			return nil
		}
		h.last().cut()
		pass(4 * attemptFirst)
		talk(t, c, "a")
		synctest.Wait()
		want(t, "the host", h.heard(), "a")
		if _, logins := h.counts(); logins != 2 {
			t.Errorf("%d logins, %+v", logins, h.logins)
		}
		c.Close()
	})
}

// TestAnAnswerBeforeTheEndOfTheAttemptAttaches: the time limit of the attempt passes while the program is notified of
// the new connection. The connection must stay, and receive everything that the host sends.
func TestAnAnswerBeforeTheEndOfTheAttemptAttaches(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{OnReconnected: func(Reconnected) { time.Sleep(2 * attemptFirst) }})
		h.last().cut()
		pass(3 * attemptFirst)
		var said []string
		for i := range 64 {
			said = append(said, fmt.Sprint(i))
			h.say(said[i])
		}
		pass(time.Second)
		want(t, "the player", events(c), append([]string{"detached", "reconnected"}, said...)...)
		c.Close()
	})
}

// TestSendUntilAcked checks that Send with a full buffer waits for the host's acks or for the end of its context.
func TestSendUntilAcked(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{SendBufferMessages: 3})
		defer c.Close()
		for i := range 3 {
			talk(t, c, fmt.Sprint(i))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		err := c.Send(ctx, Message{OpCode: 1, TargetPlayer: Server, Payload: []byte("given up")})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		go func() {
			time.Sleep(time.Second)
			h.say("with an ack")
		}()
		talk(t, c, "3")
		synctest.Wait()
		want(t, "the host", h.heard(), "0", "1", "2", "3")
	})
}

// If a program reports a new network, that ends the wait for the next attempt. This also holds if the report comes
// after the end of the connection, on either side, but before the Client has processed that end.
func TestNetworkBack(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(l *hostLink)
		noted bool // the Client has processed the end
	}{
		"cut, noted": {(*hostLink).cut, true},
		"cut":        {(*hostLink).cut, false},
		"closed":     {func(l *hostLink) { l.bye(messages.CloseSlowConsumer) }, false},
	} {
		withNamed(t, name, func(t *testing.T, h *fakeHost) {
			const ages = 1 << 15 * time.Hour
			cl := h.dial(Options{Reconnect: Reconnect{Delay: ages, DelayMax: ages, GiveUpAfter: 2 * ages}})
			defer cl.Close()
			if !c.noted {
				cl.inbox <- struct{}{} // as if a packet of another connection was being processed
			}
			c.end(h.last())
			synctest.Wait()
			cl.NetworkChanged()
			if !c.noted {
				<-cl.inbox
			}
			synctest.Wait()
			if dials, _ := h.counts(); dials != 2 || !cl.Attached() {
				t.Errorf("%d dials, attached %v", dials, cl.Attached())
			}
		})
	}
}

// A login that the host has refused for now cannot succeed later. So a takeover after the next
// login is by another device, and ends the Client.
func TestATakeoverAfterARefusalIsTheEnd(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{})
		defer c.Close()
		h.enter = func(n int, _ *hostLink) *wire.LoginResult {
			if n == 2 {
				return &wire.LoginResult{Caps: wire.CapNumbers, RetryAfterMs: 1000}
			}
			return nil
		}
		h.last().cut()
		synctest.Wait()
		for !c.Attached() {
			pass(10 * time.Millisecond)
		}
		pass(time.Second)
		h.last().bye(messages.CloseTakenOver)
		pass(time.Minute)
		_, logins := h.counts()
		if !isClosed(c.Done()) || c.End().Code != uint16(messages.CloseTakenOver) {
			t.Errorf("the client has taken the player back: %d logins, %q, end %s", logins, events(c), c.End())
		}
	})
}

// After Close is called, the program gets either no more events or all that arrive, without a gap between them.
func TestNoHoleAfterClose(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{})
		l := h.last()
		l.turns = make(chan struct{}) // a slow network: Close waits for the writer
		talk(t, c, "a")
		synctest.Wait()
		go c.Close()
		synctest.Wait()
		var said []string
		for i := range 64 {
			said = append(said, fmt.Sprint(i))
			h.say(said[i])
		}
		synctest.Wait()
		close(l.turns)
		<-c.Done()
		got := events(c)
		got = got[:len(got)-1]
		if !slices.Equal(got, said[:len(got)]) {
			t.Errorf("the player gets %q", got)
		}
	})
}
