package player

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"troupe/messages"
	"troupe/messages/counters"
)

// Random sequences that are longer than those TestEveryInterleaving can cover: many connections and messages, small
// budgets that overflow, and a faulty network. At the end the faults stop, and everything must arrive (RL-29).
func TestLongRandomInterleavings(t *testing.T) {
	for _, p := range []plan{
		{name: "extended", devices: []client{extended}, rules: holds},
		{name: "extended, little room", devices: []client{extended}, rules: holds, limit: Budget{BytesMax: 1 << 20, MessagesMax: 8}},
		{name: "extended, oldest dropped", devices: []client{extended}, rules: holds, gap: true, limit: Budget{BytesMax: 1 << 20, MessagesMax: 8}},
		{name: "three extended devices", devices: []client{extended, extended, extended}, rules: holds},
		{name: "extended and stock", devices: []client{extended, echoing}, rules: holds},
		{name: "stock", devices: []client{echoing}, rules: holds},
		{name: "stock, little room", devices: []client{echoing}, rules: holds, limit: Budget{BytesMax: 1 << 20, MessagesMax: 8}},
		{name: "stock, at most once", devices: []client{echoing}, rules: holds, skip: true},
		{name: "stock without echo", devices: []client{mute}, rules: holds},
		{name: "stock without echo, little room", devices: []client{mute}, rules: holds, limit: Budget{BytesMax: 1 << 20, MessagesMax: 8}},
		{name: "with caution", devices: []client{extended, echoing}, rules: caution},
		{name: "strict mode", devices: []client{echoing}, rules: strictly},
	} {
		p.budget = budget{dials: 7, pushes: 60, fasts: 9, sends: 60, cuts: 7, pings: 20, windows: 2, leaves: 1}
		t.Run(p.name, func(t *testing.T) { rapid.Check(t, func(t *rapid.T) { deep(t, &p) }) })
	}
}

func deep(t *rapid.T, p *plan) {
	s := newStand()
	s.begin(p)
	var trace strings.Builder
	step := func(m move) {
		fmt.Fprintf(&trace, "\n\t%v", m)
		if err := try(func() { s.make(m) }); err != nil {
			t.Fatalf("%v, after%s", err, &trace)
		}
	}
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)) // rapid's own choices are mostly the first element
	for range rapid.IntRange(1, 600).Draw(t, "length") {
		moves, _ := s.moves(nil)
		if len(moves) == 0 {
			break
		}
		m := moves[random.IntN(len(moves))]
		switch m.kind { // otherwise most runs would end early
		case windowIsOver, leaves:
			if random.IntN(50) > 0 {
				continue
			}
		case cuts:
			if random.IntN(10) > 0 {
				continue
			}
		}
		step(m)
	}
	for again := true; again; {
		again = false
		moves, live := s.moves(nil)
		for _, m := range moves {
			if m.soon() || !live && m.kind == dials {
				step(m)
				again = true
				break
			}
		}
	}
	if err := try(s.checkQuiet); err != nil {
		t.Fatalf("%v, after%s", err, &trace)
	}
	if lost := uint64(s.count.Lost.Load()); s.lostByGap > lost && !s.second() {
		t.Fatalf("%d messages are said to be lost, %d were: after%s", s.lostByGap, lost, &trace)
	}
}

// Players that share a pool never take more than the pool has, and return everything in the end.
func TestPlayersShareAPool(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const max = 3 * poolGrain
		pool := NewPool(max)
		var (
			made  frames
			count counters.Set
			outs  []*Outbox
			links []*recordLink
			epoch messages.Epoch
		)
		gap := rapid.Bool().Draw(t, "gap")
		for range 3 {
			outs = append(outs, newOutbox(&Budget{BytesMax: 1 << 20, MessagesMax: 1000, Gap: gap, Pool: pool}, &count, func() {}))
			links = append(links, nil)
		}
		which := func(t *rapid.T) (int, *Outbox) {
			i := rapid.IntRange(0, 2).Draw(t, "player")
			return i, outs[i]
		}
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				_, o := which(t)
				o.Push(made.make(rapid.SampledFrom([]int{10, 5000, 30_000}).Draw(t, "size")))
			},
			"fast": func(t *rapid.T) {
				_, o := which(t)
				o.PushFast(made.make(5000))
			},
			"attach": func(t *rapid.T) {
				i, o := which(t)
				if links[i] != nil {
					o.detach()
				}
				epoch++
				links[i] = &recordLink{}
				links[i].room = rapid.IntRange(0, 3).Draw(t, "room")
				how := rapid.SampledFrom([]Confirmation{ByWriting, ByMarks, ByAcks}).Draw(t, "confirm")
				o.attach(attachOptions{link: links[i], channel: counters.WS, epoch: epoch, confirm: how, loginResponse: greet})
			},
			"drain": func(t *rapid.T) {
				if i, _ := which(t); links[i] != nil {
					links[i].drain()
				}
			},
			"confirm": func(t *rapid.T) {
				_, o := which(t)
				o.Acked(o.attachment.epoch, rapid.Uint64Range(0, o.queue.sent).Draw(t, "n"))
				o.Echoed(o.attachment.epoch, pongOf(o.confirmation.marks.mark))
			},
			"detach": func(t *rapid.T) {
				i, o := which(t)
				o.detach()
				links[i] = nil
			},
			"": func(t *rapid.T) {
				granted := 0
				for i, o := range outs {
					granted += o.queue.granted
					// One grain is the allowance for messages that are being added.
					if o.queue.bytes > o.queue.granted+poolFree+poolGrain {
						t.Fatalf("player %d holds %d bytes with %d granted", i, o.queue.bytes, o.queue.granted)
					}
					if !o.consistent() {
						t.Fatalf("player %d is not sound", i)
					}
				}
				if used := pool.Used(); used > max || used != int64(granted) {
					t.Fatalf("%d bytes of the pool are used, %d granted", used, granted)
				}
			},
		})
		for _, o := range outs {
			o.close()
		}
		if pool.Used() != 0 {
			t.Fatalf("%d bytes are not given back", pool.Used())
		}
		made.balanced(t)
	})
}
