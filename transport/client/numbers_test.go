package client

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/messages"
	"troupe/messages/wire"
)

// counting returns the numbers of a client that has logged in to a host that numbers messages.
func counting(t *testing.T) *numbers {
	t.Helper()
	n := &numbers{bytesMax: 1 << 20, messagesMax: 100}
	logged(t, n, wire.LoginResult{}, resumption{})
	return n
}

// logged performs a login with its answer. The answer must give the wanted resumption.
func logged(t *testing.T, n *numbers, r wire.LoginResult, want resumption) {
	t.Helper()
	var l wire.Login
	n.login(&l)
	r.Success, r.Caps = true, wire.CapNumbers
	if got, err := n.answer(&r, l.LastReceived); err != nil || got != want {
		t.Fatalf("answer %+v: %+v, %v; want %+v", r, got, err, want)
	}
}

func say(t *testing.T, n *numbers, text string, fast bool) {
	t.Helper()
	if !n.put(&wire.Header{OpCode: 1, TargetPlayer: 2, Payload: []byte(text)}, fast) {
		t.Fatalf("no room for %q", text)
	}
}

// written returns the packets that are due to be sent, each as number:payload/ack.
func written(t *testing.T, n *numbers) (all []string) {
	t.Helper()
	for {
		unit, _, ok := n.next(nil)
		if !ok {
			return all
		}
		var h wire.Header
		if err := parse(&h, unit); err != nil {
			t.Fatal(err)
		}
		if h.Reliable != (h.RelSeq > 0 || h.OpCode == 0) {
			t.Errorf("%+v", h)
		}
		all = append(all, fmt.Sprintf("%d:%s/%d", h.RelSeq, h.Payload, h.Ack))
	}
}

func wantWritten(t *testing.T, n *numbers, want ...string) {
	t.Helper()
	if got := written(t, n); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("written %q, want %q", got, want)
	}
}

func arrive(t *testing.T, n *numbers, number, ack uint64, wantFresh bool) {
	t.Helper()
	if fresh, err := n.take(number, ack); fresh != wantFresh || err != nil {
		t.Errorf("packet %d with ack %d: %v, %v", number, ack, fresh, err)
	}
}

func TestUnreliableDoesNotMoveTheCounter(t *testing.T) {
	n := counting(t)
	say(t, n, "fast", true)
	say(t, n, "a", false)
	wantWritten(t, n, "0:fast/0", "1:a/0")
	say(t, n, "late", true)
	say(t, n, "b", false)
	logged(t, n, wire.LoginResult{Outcome: wire.OutcomeResumed}, resumption{replay: 1}) // fast messages are never replayed
	wantWritten(t, n, "1:a/0", "2:b/0")
	arrive(t, n, 0, 0, true)
	arrive(t, n, 1, 0, true)
	arrive(t, n, 0, 2, true)
	if n.received != 1 || n.out.count != 0 {
		t.Errorf("%+v", n)
	}
}

func TestViolations(t *testing.T) {
	for name, c := range map[string]struct{ number, ack uint64 }{
		"a hole":                  {number: 4},
		"ack more than sent":      {ack: 3},
		"ack that falls":          {number: 3, ack: 1},
		"ack more than sent, too": {number: 3, ack: 1 << 63},
	} {
		n := counting(t)
		say(t, n, "a", false)
		say(t, n, "b", false)
		written(t, n)
		say(t, n, "not yet sent", false)
		arrive(t, n, 1, 2, true)
		arrive(t, n, 2, 2, true)
		if _, err := n.take(c.number, c.ack); !errors.Is(err, errNumbers) || n.received != 2 {
			t.Errorf("%s: %v, received %d", name, err, n.received)
		}
	}
}

func TestFailedSendBurnsNoNumber(t *testing.T) {
	n := counting(t)
	n.messagesMax = 2
	say(t, n, "a", false)
	say(t, n, "b", false)
	for range 3 {
		if n.put(&wire.Header{OpCode: 1, Payload: []byte("no room")}, false) {
			t.Error("there is room")
		}
	}
	wantWritten(t, n, "1:a/0", "2:b/0")
	arrive(t, n, 0, 1, true)
	say(t, n, "c", false)
	wantWritten(t, n, "3:c/0")
	n.messagesMax, n.bytesMax = 100, n.out.bytes+5
	if n.put(&wire.Header{OpCode: 1, Payload: []byte("many bytes")}, false) {
		t.Error("there is room for many bytes")
	}
	arrive(t, n, 0, 3, true)
	n.bytesMax = 1
	say(t, n, "larger than the buffer, but alone", false)
}

func TestAcks(t *testing.T) {
	n := counting(t)
	for i := range uint64(acksMax - 1) {
		arrive(t, n, i+1, 0, true)
	}
	if n.ackDue() || !n.ackOpen() {
		t.Error("due before it is")
	}
	say(t, n, "fast", true)
	wantWritten(t, n, "0:fast/0") // only reliable packets include an ack
	arrive(t, n, acksMax, 0, true)
	wantWritten(t, n, "0:/16")
	arrive(t, n, acksMax+1, 0, true)
	say(t, n, "a", false)
	wantWritten(t, n, "1:a/17")
	if n.ackOpen() {
		t.Error("nothing is left to acknowledge")
	}
	arrive(t, n, acksMax+2, 0, true)
	n.ackOverdue = true // as the ack timer does
	wantWritten(t, n, "0:/18")
	say(t, n, "b", false)
	wantWritten(t, n, "2:b/18") // the ack is not new, so it does not count as sent with a packet
	arrive(t, n, 19, 0, true)
	say(t, n, "c", false)
	wantWritten(t, n, "3:c/19")
	last := uint64(19)
	for range acksRidingMax - 1 { // if acks are sent with packets, they wait for the next packet
		last++
		arrive(t, n, last, 0, true)
	}
	if n.ackDue() {
		t.Error("due although acks ride")
	}
	arrive(t, n, last+1, 0, true)
	wantWritten(t, n, "0:/83")
	for range acksMax { // no packet has carried the last ack, so acks are sent separately again
		last++
		arrive(t, n, last+1, 0, true)
	}
	wantWritten(t, n, "0:/99")
	// On a new connection the ack is sent again. It shows the host that the new token has arrived.
	logged(t, n, wire.LoginResult{Outcome: wire.OutcomeResumed, LastReceived: 3, Base: 99}, resumption{})
	wantWritten(t, n, "0:/99")
}

func TestGapAndFreshDevice(t *testing.T) {
	n := counting(t)
	arrive(t, n, 1, 0, true)
	logged(t, n, wire.LoginResult{Outcome: wire.OutcomeReplayLost, Base: 4}, resumption{gap: 3})
	arrive(t, n, 5, 0, true)

	n = &numbers{bytesMax: 1 << 20, messagesMax: 100} // another device
	logged(t, n, wire.LoginResult{Outcome: wire.OutcomeResumed, Base: 7, LastReceived: 3}, resumption{})
	say(t, n, "a", false)
	wantWritten(t, n, "4:a/7")
	arrive(t, n, 8, 4, true)
}

// A message that arrives between LOGIN and its answer causes no gap and is not delivered twice.
func TestMessagesDuringALoginAreNeitherLostNorDoubled(t *testing.T) {
	n := counting(t)
	arrive(t, n, 1, 0, true)
	var l wire.Login
	n.login(&l)
	arrive(t, n, 2, 0, true)
	done, err := n.answer(&wire.LoginResult{Success: true, Caps: wire.CapNumbers, Outcome: wire.OutcomeResumed, Base: 1}, l.LastReceived)
	if err != nil || done != (resumption{}) {
		t.Fatalf("%+v, %v", done, err)
	}
	arrive(t, n, 2, 0, false)
	arrive(t, n, 3, 0, true)
}

func TestContradictoryLoginAnswersAreErrors(t *testing.T) {
	caps := wire.CapNumbers
	for name, c := range map[string]struct {
		r   wire.LoginResult
		err error
	}{
		"not resumed":        {wire.LoginResult{Caps: caps}, errNotResumed},
		"does not count now": {wire.LoginResult{Outcome: wire.OutcomeResumed, LastReceived: 2, Base: 3}, errNotResumed},
		"received too much":  {wire.LoginResult{Caps: caps, Outcome: wire.OutcomeResumed, LastReceived: 3, Base: 3}, errNumbers},
		"forgot":             {wire.LoginResult{Caps: caps, Outcome: wire.OutcomeResumed, LastReceived: 0, Base: 3}, errNumbers},
		"base falls":         {wire.LoginResult{Caps: caps, Outcome: wire.OutcomeResumed, LastReceived: 2, Base: 2}, errNumbers},
	} {
		n := counting(t)
		say(t, n, "a", false)
		say(t, n, "b", false)
		written(t, n)
		for i := range uint64(3) {
			arrive(t, n, i+1, 1, true)
		}
		before := *n
		if _, err := n.answer(&c.r, 3); !errors.Is(err, c.err) {
			t.Errorf("%s: %v", name, err)
		}
		if fmt.Sprint(before) != fmt.Sprint(*n) {
			t.Errorf("%s: something has changed", name)
		}
	}
}

// TestWithoutNumbers checks that a host that does not number messages gets each message once. After a reconnect, only
// messages that were not written before are sent.
func TestWithoutNumbers(t *testing.T) {
	n := &numbers{bytesMax: 1 << 20, messagesMax: 100}
	for range 2 {
		if _, err := n.answer(&wire.LoginResult{Success: true, ReconnectToken: "t"}, 0); err != nil {
			t.Fatal(err)
		}
		var l wire.Login
		if n.login(&l); l.ReconnectToken != "t" || l.LastReceived != 0 {
			t.Errorf("login %+v", l)
		}
		for _, text := range []string{"a", "b"} {
			say(t, n, text, false)
		}
		unit, again, ok := n.next(nil)
		var h wire.Header
		if err := parse(&h, unit); err != nil || !ok || again || !h.Reliable || h.RelSeq != 0 || h.Ack != 0 {
			t.Errorf("%+v, %v", h, err)
		}
		arrive(t, n, 77, 88, true)
		if n.out.count != 1 || n.ackOpen() {
			t.Errorf("left %+v", n)
		}
		n.out.rewind()
		for _, _, ok := n.next(nil); ok; _, _, ok = n.next(nil) {
		}
	}
	if n.out.count != 0 || n.out.bytes != 0 {
		t.Errorf("left %+v", n.out)
	}
}

// endpoint is one side of the model. It has its numbers, and the messages it has sent and received.
type endpoint struct {
	numbers
	sent, got []byte
	to        [][]byte // packets in flight on the current connection
}

// TestExactlyOnce lets the connection of two endpoints break at any point. Packets in flight are lost, and answers to
// logins may be lost, too. Every message must arrive exactly once and in order.
func TestExactlyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var side [2]*endpoint // the client and the host
		for i := range side {
			side[i] = &endpoint{numbers: numbers{bytesMax: 1 << 20, messagesMax: 12}}
			side[i].numbering = numberingOn
		}
		attached := true // according to the client
		send := func(t *rapid.T) {
			e := side[rapid.IntRange(0, 1).Draw(t, "sender")]
			b := byte(len(e.sent))
			if fast := rapid.Bool().Draw(t, "fast"); fast {
				e.put(&wire.Header{OpCode: 2, Payload: []byte{b}}, true)
			} else if e.put(&wire.Header{OpCode: 1, Payload: []byte{b}}, false) {
				e.sent = append(e.sent, b)
			}
		}
		write := func(t *rapid.T) {
			i := rapid.IntRange(0, 1).Draw(t, "writer")
			e := side[i]
			if i == 0 && !attached {
				return
			}
			e.ackOverdue = e.ackOpen() && rapid.Bool().Draw(t, "the timer")
			if unit, _, ok := e.next(nil); ok {
				e.to = append(e.to, unit)
			}
		}
		receive := func(t *rapid.T) {
			i := rapid.IntRange(0, 1).Draw(t, "receiver")
			from, e := side[1-i], side[i]
			if len(from.to) == 0 || !attached {
				return
			}
			var h wire.Header
			if err := parse(&h, from.to[0]); err != nil {
				t.Fatal(err)
			}
			from.to = from.to[1:]
			fresh, err := e.take(h.RelSeq, h.Ack)
			if err != nil {
				t.Fatal(err)
			}
			if fresh && h.OpCode == 1 {
				e.got = append(e.got, h.Payload[0])
			}
		}
		resume := func(t *rapid.T, answerLost bool) {
			c, h := side[0], side[1]
			c.to, h.to = nil, nil
			var l wire.Login
			c.login(&l)
			// The host resumes the session even if its answer is then lost.
			h.out.trim(l.LastReceived)
			h.out.rewind()
			h.told, h.heard, h.ackOverdue = 0, 0, false
			if attached = !answerLost; answerLost {
				return
			}
			r := wire.LoginResult{Caps: wire.CapNumbers, Outcome: wire.OutcomeResumed, LastReceived: h.received, Base: l.LastReceived}
			if _, err := c.answer(&r, l.LastReceived); err != nil {
				t.Fatal(err)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": send, "write": write, "receive": receive, "write more": write, "receive more": receive,
			"reset": func(t *rapid.T) { resume(t, rapid.Bool().Draw(t, "answer lost")) },
			"": func(t *rapid.T) {
				for i, e := range side {
					if got := side[1-i].got; string(got) != string(e.sent[:len(got)]) {
						t.Fatalf("sent %v, received %v", e.sent, got)
					}
				}
			},
		})
		resume(t, false)
		for i, e := range side {
			for {
				unit, _, ok := e.next(nil)
				if !ok {
					break
				}
				var h wire.Header
				if err := parse(&h, unit); err != nil {
					t.Fatal(err)
				}
				if fresh, err := side[1-i].take(h.RelSeq, h.Ack); err != nil {
					t.Fatal(err)
				} else if fresh && h.OpCode == 1 {
					side[1-i].got = append(side[1-i].got, h.Payload[0])
				}
			}
			if got := side[1-i].got; string(got) != string(e.sent) {
				t.Fatalf("sent %v, received %v", e.sent, got)
			}
		}
	})
}

func TestPolicy(t *testing.T) {
	var r Reconnect
	if err := r.check(); err != nil || r.Delay != 200*time.Millisecond || r.DelayMax != 5*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
	for n, want := range map[int]time.Duration{triesQuick: r.Delay / 10, triesCalm: r.Delay / 2, 0: r.Delay, 1: 2 * r.Delay, 4: 16 * r.Delay, 5: r.DelayMax, 1000: r.DelayMax} {
		if got := r.delayMax(n); got != want {
			t.Errorf("attempt %d: up to %v, want %v", n, got, want)
		}
		for range 100 {
			if d := r.delay(n); d < 0 || d > want {
				t.Errorf("attempt %d: %v", n, d)
			}
		}
	}
	if r.giveUpAfter(0) != 35*time.Second || r.giveUpAfter(time.Minute) != 65*time.Second {
		t.Error("patience without GiveUpAfter")
	}
	if r.GiveUpAfter = time.Hour; r.giveUpAfter(time.Minute) != time.Hour {
		t.Error("patience with GiveUpAfter")
	}
	code := func(c messages.CloseReason) End { return End{Code: uint16(c)} }
	for name, c := range map[string]struct {
		end    End
		asked  time.Duration
		atOnce bool
		final  bool
	}{
		"lost":         {},
		"dropped here": {end: End{Err: errDropped}, atOnce: true},
		"slow":         {end: code(messages.CloseSlowConsumer)},
		"draining":     {end: code(messages.CloseGoingAway), asked: time.Second},
		"taken over":   {end: code(messages.CloseTakenOver), final: true},
		"left":         {end: End{Local: true}, final: true},
	} {
		if asked, atOnce, final := afterLoss(c.end); asked != c.asked || atOnce != c.atOnce || final != c.final {
			t.Errorf("%s: %v, %v, %v", name, asked, atOnce, final)
		}
	}
	for name, c := range map[string]struct {
		err   error
		asked time.Duration
		final bool
	}{
		"refused":     {err: &RefusedError{}, final: true},
		"not now":     {err: fmt.Errorf("wss: %w", &RefusedError{RetryAfter: 3 * time.Second}), asked: 3 * time.Second},
		"numbers":     {err: errNumbers, final: true},
		"not resumed": {err: errNotResumed, final: true},
		"try later":   {err: &EndError{code(messages.CloseTryLater)}, asked: time.Second},
		"game over":   {err: &EndError{code(messages.CloseGameEnded)}, final: true},
		"broken":      {err: &EndError{End{Err: errors.New("reset")}}},
		"unreachable": {err: errUnreachable},
	} {
		if asked, final := afterAttempt(c.err); asked != c.asked || final != c.final {
			t.Errorf("%s: %v, %v", name, asked, final)
		}
	}
	o := Options{DialTimeout: 15 * time.Second}
	for n, want := range []time.Duration{3 * time.Second, 6 * time.Second, 12 * time.Second, 15 * time.Second} {
		if got := o.attemptMax(n); got != want {
			t.Errorf("attempt %d: at most %v", n, got)
		}
	}
}
