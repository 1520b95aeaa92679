package client

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
)

// TestMove checks that an attached client can change its transport. The old connection is closed without a
// leave. A failed attempt changes nothing.
func TestMove(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{})
		talk(t, c, "a")
		h.say("A")
		synctest.Wait()
		h.down = map[Transport]error{WSS: errUnreachable}
		old := h.last()
		if err := c.Move(t.Context(), WSS); !errors.Is(err, errUnreachable) || c.Transport() != WS || old.how != "" {
			t.Errorf("a move that fails: %v, %s", err, c.Transport())
		}
		if err := c.Move(t.Context(), KCP); err != nil || c.Transport() != KCP {
			t.Errorf("move: %v, %s", err, c.Transport())
		}
		synctest.Wait()
		if old.how != "abort" {
			t.Errorf("the old connection: %q", old.how)
		}
		late := wire.Header{OpCode: 9, Sender: Server, TargetPlayer: 7, Reliable: true, Payload: []byte("late"), RelSeq: 2}
		old.cn.onUnit(wire.AppendMessage(nil, &late)) // a message on an old connection changes nothing
		talk(t, c, "b")
		h.say("B")
		synctest.Wait()
		want(t, "the host", h.heard(), "a", "b")
		want(t, "the player", events(c), "A", "B")
		h.last().cut()
		pass(time.Second)
		if c.Transport() != KCP || !c.Attached() {
			t.Errorf("back by %s", c.Transport())
		}
		c.Close()
	})
}

// TestMoveIsNoTakeover: during a Move the host closes the old connection as taken over. If that arrives before the
// login's answer, it is neither an end nor a loss. If the answer never arrives, it is a loss.
func TestMoveIsNoTakeover(t *testing.T) {
	for _, late := range []time.Duration{100 * time.Millisecond, 30 * time.Second} {
		with(t, func(t *testing.T, h *fakeHost) {
			c := h.dial(Options{})
			defer c.Close()
			old := h.last()
			h.enter = func(n int, l *hostLink) *wire.LoginResult {
				if n == 2 {
					l.late = late
					old.bye(messages.CloseTakenOver)
				}
				return nil
			}
			err := c.Move(t.Context(), KCP)
			if (err == nil) != (late < time.Second) {
				t.Errorf("move: %v", err)
			}
			pass(time.Minute)
			talk(t, c, "a")
			h.say("A")
			synctest.Wait()
			want(t, "the host", h.heard(), "a")
			if err == nil {
				want(t, "the player", events(c), "A")
			} else {
				want(t, "the player", events(c), "detached", "reconnected", "A")
			}
		})
	}
}

// TestCloseDuringAMove checks that Close is a leave even if the host has already moved the player and its answer is in flight.
func TestCloseDuringAMove(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{})
		old := h.last()
		h.enter = func(n int, l *hostLink) *wire.LoginResult {
			l.late = 100 * time.Millisecond
			old.bye(messages.CloseTakenOver)
			return nil
		}
		go c.Move(t.Context(), KCP)
		pass(10 * time.Millisecond)
		c.Close()
		pass(time.Second)
		if how := h.last().how; how != "close" || h.last() == old {
			t.Errorf("the current connection of the host ended by %q", how)
		}
	})
}

// TestMoveWithEventsWaiting: a Move is called in the goroutine that should take events. It must end
// with its context, and no event may be lost.
func TestMoveWithEventsWaiting(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{EventsMax: 1})
		defer c.Close()
		for i := range 5 {
			h.say(fmt.Sprint(i))
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := c.Move(ctx, KCP); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Second {
			t.Errorf("move: %v after %v", err, time.Since(began))
		}
		var got []string
		take := func() {
			for range 5 {
				synctest.Wait()
				got = append(got, events(c)...)
			}
		}
		take()
		c.NetworkChanged()
		take()
		h.say("5")
		take()
		want(t, "the player", got, "0", "1", "2", "3", "4", "detached", "reconnected", "5")
	})
}

// A Move in the goroutine that should take events ends with its context, even if the connection is lost
// meanwhile and the buffer of events is full.
func TestMoveEndsWithItsContextAfterALoss(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		c := h.dial(Options{EventsMax: 1})
		defer c.Close()
		h.say("A") // fills the buffer, but the reader does not block
		synctest.Wait()
		h.mu.Lock()
		h.down = map[Transport]error{KCP: nil} // KCP does not answer
		h.mu.Unlock()
		old := h.last()
		time.AfterFunc(500*time.Millisecond, old.cut)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := c.Move(ctx, KCP); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("move: %v", err)
			}
		}()
		select {
		case <-done:
		case <-time.After(time.Hour):
			t.Error("Move has not returned an hour after its context ended")
		}
		var got []string
		for range 5 {
			pass(time.Second)
			got = append(got, events(c)...)
		}
		want(t, "the player", got, "A", "detached", "reconnected")
	})
}

// A connection that is lost during a Move to a transport that does not answer is resumed.
func TestALossDuringAMoveIsNotTheEnd(t *testing.T) {
	with(t, func(t *testing.T, h *fakeHost) {
		h.window = 5 * time.Second
		c := h.dial(Options{})
		defer c.Abort()
		var lost time.Time
		h.enter = func(n int, l *hostLink) *wire.LoginResult {
			if !lost.IsZero() && time.Since(lost) > h.window {
				return &wire.LoginResult{Caps: wire.CapNumbers} // the seat is no longer reserved
			}
			return nil
		}
		h.mu.Lock()
		h.down = map[Transport]error{KCP: nil} // UDP is blocked
		h.mu.Unlock()
		time.AfterFunc(100*time.Millisecond, func() {
			lost = time.Now()
			h.links[0].cut()
		})
		if err := c.Move(t.Context(), KCP); err == nil {
			t.Error("moved to a transport that does not answer")
		}
		pass(time.Second)
		if !c.Attached() {
			t.Errorf("not attached; %q, end %s", events(c), c.End())
		}
	})
}

// The program is notified that the old connection's fast channel is down before it is notified that the new one's is up. This
// also holds if the host closes the old connection before its answer to the login of the Move arrives, or at the same moment.
func TestMoveReportsTheFastChannelDown(t *testing.T) {
	takenOver := func(late time.Duration, bye func(old *hostLink)) func(h *fakeHost) {
		return func(h *fakeHost) {
			h.enter = func(n int, l *hostLink) *wire.LoginResult {
				l.late = late
				bye(h.links[len(h.links)-2])
				return nil
			}
		}
	}
	for name, c := range map[string]struct {
		prepare func(h *fakeHost)
		moves   int
	}{
		"not taken over":     {func(*fakeHost) {}, 1},
		"taken over before":  {takenOver(100*time.Millisecond, func(old *hostLink) { old.bye(messages.CloseTakenOver) }), 1},
		"at the same moment": {takenOver(0, func(old *hostLink) { go old.bye(messages.CloseTakenOver) }), 500},
	} {
		withNamed(t, name, func(t *testing.T, h *fakeHost) {
			cl := h.dial(Options{Fast: true})
			defer cl.Close()
			want(t, "the player", events(cl), "fast up")
			c.prepare(h)
			for range c.moves {
				if err := cl.Move(t.Context(), KCP); err != nil {
					t.Error(err)
				}
				want(t, "the player", events(cl), "fast down", "fast up")
			}
		})
	}
}
