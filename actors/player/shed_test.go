package player

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// The reserve is the volume that arrives in 5 s at the rate at which the budget was used up. It is at least a quarter
// of the budget and at most the whole budget.
func TestTheReserveIsInSeconds(t *testing.T) {
	b := Budget{BytesMax: 1 << 20, MessagesMax: 4000}
	for _, c := range []struct {
		came volume
		in   time.Duration
		want volume
	}{
		{volume{100_000, 400}, time.Second, volume{500_000, 2000}},
		{volume{100_000, 400}, 2 * time.Second, volume{1 << 18, 1000}},
		{volume{100_000, 400}, time.Millisecond, volume{500_000, 2000}}, // a short burst
		{volume{1 << 20, 4000}, time.Second, volume{1 << 20, 4000}},
		{volume{}, time.Hour, volume{1 << 18, 1000}},
	} {
		if got := reserveFor(b, c.came, c.in); got != c.want {
			t.Errorf("%+v in %v: %+v, want %+v", c.came, c.in, got, c.want)
		}
	}
}

func TestAFairShareTakesFromThoseWhoHaveMost(t *testing.T) {
	for _, c := range []struct {
		total int
		held  []int
		want  int
	}{
		{10, []int{20}, 10},
		{10, []int{1, 20}, 9},
		{10, []int{20, 20}, 5},
		{10, []int{1, 20, 2, 20}, 3},
		{100, []int{1, 20, 2, 20}, 1 << 62},
		{-5, []int{1}, 0},
	} {
		if got := fairShare(c.total, slices.Clone(c.held)); got != c.want && (got < c.want || c.want < 1<<62) {
			t.Errorf("%d for %v: %d, want %d", c.total, c.held, got, c.want)
		}
	}
}

// ledger is a client that uses the extension and records what it receives.
type ledger struct {
	recordLink
	received, dropped uint64
	gaps              uint64
	got               []int32
}

func (l *ledger) login(s resumePoint) {
	l.gaps += s.base - min(l.received, s.base) + s.unsent - l.dropped
	l.received, l.dropped = max(l.received, s.base), s.unsent
}

func (l *ledger) read(t *rapid.T) {
	for _, u := range l.took {
		switch {
		case u.n == 0, u.n <= l.received:
		case u.n != l.received+1:
			t.Fatalf("number %d after %d", u.n, l.received)
		default:
			l.received = u.n
			l.got = append(l.got, u.op)
		}
	}
	l.took = nil
}

// Some senders send little and some send much to a player with an unreliable connection: it is slow, gets lost and is
// resumed, and LOGIN_RESPONSEs get lost too. The player must be told exactly which messages it does not get, in order,
// and senders that send little must lose nothing.
func TestAGapIsExactAndFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			count counters.Set
			sent  int32
			all   []*wire.Frame
			from  = make(map[int32]int32) // the sender of each message
			c     ledger
			epoch messages.Epoch
			told  uint64
			on    bool
		)
		out := newOutbox(&Budget{BytesMax: 1 << 20, MessagesMax: 32, Gap: true}, &count, func() {})
		attach := func(lost bool) {
			if on {
				out.detach()
			}
			epoch++
			out.confirmBeforeAttach(c.received)
			told += out.takeGap(c.received)
			out.attach(attachOptions{link: &c, channel: counters.WS, epoch: epoch, confirm: ByAcks, loginResponse: func(s resumePoint) *wire.Frame {
				if !lost {
					c.login(s)
				}
				return greet(s)
			}})
			if on = !lost; lost {
				out.detach()
			}
		}
		push := func(sender int32) {
			sent++
			f := wire.NewFrame(&wire.Header{OpCode: sent, Sender: sender})
			all, from[sent] = append(all, f), sender
			out.Push(f)
		}
		attach(false)
		gentle := 0
		t.Repeat(map[string]func(*rapid.T){
			"much": func(t *rapid.T) {
				for range rapid.IntRange(1, 40).Draw(t, "n") {
					push(int32(1 + rapid.IntRange(0, 1).Draw(t, "sender")))
				}
			},
			"little": func(t *rapid.T) {
				if gentle < 4 { // stop until all messages have been received, which keeps the sender far below its share
					gentle++
					push(3)
				}
			},
			"drain": func(t *rapid.T) {
				c.room = rapid.IntRange(1, 20).Draw(t, "room")
				c.drain()
				if rapid.Bool().Draw(t, "arrives") && on {
					c.read(t)
				} else {
					c.took = nil // lost in transit, so the connection is unusable
					out.detach()
					on = false
				}
			},
			"ack": func(t *rapid.T) {
				if on && !out.Acked(epoch, c.received) {
					t.Fatal("the ack is a violation")
				}
			},
			"lose":                           func(*rapid.T) { out.detach(); on, c.took = false, nil },
			"resume":                         func(*rapid.T) { attach(false) },
			"resume, and the answer is lost": func(*rapid.T) { attach(true) },
			"": func(t *rapid.T) {
				if !out.consistent() {
					t.Fatal("not sound")
				}
				if gentle > 0 && !slices.ContainsFunc(all, func(f *wire.Frame) bool { return f.Sender() == 3 && !slices.Contains(c.got, f.OpCode()) }) {
					gentle = 0
				}
			},
		})
		attach(false)
		for c.room = 0; c.drain(); {
		}
		c.read(t)
		if !slices.IsSorted(c.got) {
			t.Fatalf("out of order: %v", c.got)
		}
		if missing := uint64(sent) - uint64(len(c.got)); c.gaps != missing || told != missing {
			t.Fatalf("%d of %d are missing, the player is told of %d, the game of %d", missing, sent, c.gaps, told)
		}
		for n := int32(1); n <= sent; n++ {
			if from[n] == 3 && !slices.Contains(c.got, n) {
				t.Fatalf("message %d of the gentle sender is lost", n)
			}
		}
		out.close()
		for _, f := range all {
			f.Release()
		}
	})
}
