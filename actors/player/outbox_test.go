package player

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// model is what an Outbox should be, in the simplest words.
type model struct {
	mode       outboxMode
	queue      []modelFrame
	told, lost bool
	spilled    bool
	dirty      bool
	calls      int // of full
	delivered  []int32
	dropped    map[counters.Drop]int64
	slow       bool
	slows      int64
	orphan     bool
}

type modelFrame struct {
	op       int32
	size     int
	greeting bool
}

func (m *model) bytes() (n int) {
	for _, f := range m.queue {
		n += f.size
	}
	return n
}

// over reports whether one more frame would pass a share of the budget.
func (m *model) over(b Budget, size int, percent int) bool {
	return m.bytes()+size > b.BytesMax*percent/100 || len(m.queue)+1 > b.MessagesMax*percent/100
}

func (m *model) add(b Budget, f modelFrame) {
	m.queue = append(m.queue, f)
	if !m.slow && (m.bytes() > b.BytesMax*75/100 || len(m.queue) > b.MessagesMax*75/100) {
		m.slow = true
		m.slows++
	}
}

func (m *model) wants() Pushed {
	switch {
	case m.mode != attached || len(m.queue) == 0:
		return PushNothing
	case m.bytes() >= flushAtBytes:
		return PushFlushNow
	case m.dirty:
		return PushNothing
	}
	m.dirty = true
	return PushDirty
}

func (m *model) push(b Budget, f modelFrame) Pushed {
	if m.mode == surrendered || m.mode == closed {
		m.dropped[counters.DropPlayerGone]++
		return PushNothing
	}
	over := m.over(b, f.size, 100)
	if m.over(b, f.size, 125) {
		m.lost = true
		m.dropped[counters.DropOutboxFull]++
	} else {
		m.add(b, f)
	}
	if m.mode == detached && m.spilled {
		over = m.lost // full when it went: the reserve is free for the way back
	}
	if over && !m.told {
		m.told = true
		m.calls++
	}
	return m.wants()
}

func (m *model) pushFast(b Budget, f modelFrame) Pushed {
	switch {
	case m.mode == surrendered || m.mode == closed:
		m.dropped[counters.DropPlayerGone]++
	case m.mode == detached:
		m.dropped[counters.DropFastDetached]++
	case m.over(b, f.size, 50):
		m.dropped[counters.DropFastSlowPeer]++
	default:
		m.add(b, f)
		return m.wants()
	}
	return PushNothing
}

func (m *model) clear() { m.queue, m.slow = nil, false }

func (m *model) detach() {
	if m.mode == surrendered {
		return
	}
	if m.mode == attached {
		m.mode, m.spilled = detached, m.told
		if len(m.queue) > 0 && m.queue[0].greeting {
			m.queue = m.queue[1:]
			if len(m.queue) == 0 {
				m.slow = false
			}
		}
	}
	m.told, m.dirty, m.orphan = false, false, false
}

func (m *model) drain(room int) {
	if m.mode != attached && m.mode != surrendered {
		return
	}
	n := len(m.queue)
	if room > 0 {
		n = min(n, room)
	}
	for _, f := range m.queue[:n] {
		m.delivered = append(m.delivered, f.op)
	}
	m.queue = m.queue[n:]
	if len(m.queue) == 0 {
		m.slow = false
	}
}

var sizes = []int{0, 10, 400, 3000, 9000}

func TestOutboxBehavesLikeItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := Budget{BytesMax: 40_000, MessagesMax: 24}
		var (
			made      frames
			count     counters.Set
			calls     int
			links     []*fakeLink
			delivered []int32
			open      *fakeLink // attached, or closing with the queue
		)
		out := NewOutbox(b, &count, func() { calls++ })
		m := &model{mode: holding, dropped: make(map[counters.Drop]int64)}
		frame := func(t *rapid.T) (*wire.Frame, modelFrame) {
			f := made.make(rapid.SampledFrom(sizes).Draw(t, "size"))
			return f, modelFrame{op: f.OpCode(), size: f.Len()}
		}
		push := func(t *rapid.T, how string, really func(*wire.Frame) Pushed, model func(Budget, modelFrame) Pushed) {
			f, mf := frame(t)
			if got, want := really(f), model(b, mf); got != want {
				t.Fatalf("%s says %d, want %d", how, got, want)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"push":  func(t *rapid.T) { push(t, "Push", out.Push, m.push) },
			"push2": func(t *rapid.T) { push(t, "Push", out.Push, m.push) },
			"fast":  func(t *rapid.T) { push(t, "PushFast", out.PushFast, m.pushFast) },
			"flush": func(*rapid.T) { out.Flush(); m.dirty = false },
			"attach": func(t *rapid.T) {
				if m.mode != holding && m.mode != detached {
					t.Skip("not free")
				}
				open = &fakeLink{room: rapid.IntRange(0, 3).Draw(t, "room")}
				links = append(links, open)
				f, mf := frame(t)
				mf.greeting = true
				out.attach(open, counters.WS, f.Retain())
				m.mode, m.told, m.spilled, m.dirty, m.orphan = attached, false, false, false, false
				m.queue = slices.Insert(m.queue, 0, mf)
			},
			"drain": func(t *rapid.T) {
				if open == nil {
					t.Skip("no connection")
				}
				before := len(open.got)
				more := open.drain()
				delivered = append(delivered, open.got[before:]...)
				m.drain(open.room)
				if (m.mode == attached || m.mode == surrendered) && more != (len(m.queue) > 0) {
					t.Fatalf("more is %v", more)
				}
			},
			"detach": func(t *rapid.T) {
				link := out.detach()
				if (link != nil) != (m.mode == attached) {
					t.Fatalf("detached %v", link)
				}
				m.detach()
			},
			"surrender": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
					t.Skip()
				}
				out.surrender(messages.CloseKicked)
				if m.mode == attached {
					if m.mode = surrendered; m.orphan {
						m.mode = closed
						m.clear()
					}
					if !slices.Equal(open.closed, []messages.CloseReason{messages.CloseKicked}) {
						t.Fatalf("closed with %v", open.closed)
					}
				}
			},
			"abandon": func(t *rapid.T) {
				if len(links) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(links)-1).Draw(t, "link") // also an old one: no effect
				out.Abandon(links[i])
				if links[i] != open {
					return
				}
				switch m.mode {
				case surrendered:
					m.mode = closed
					m.clear()
				case attached:
					m.orphan = true
				}
			},
			"dropHeld": func(*rapid.T) {
				out.dropHeld()
				if m.mode == holding {
					m.clear()
					m.told, m.lost = false, false
				}
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "seldom") > 0 {
					t.Skip()
				}
				out.close()
				m.detach()
				if m.mode != surrendered {
					m.mode = closed
					m.clear()
				}
			},
			"": func(t *rapid.T) {
				if n, bytes := out.Depth(); n != len(m.queue) || bytes != m.bytes() {
					t.Fatalf("%d messages, %d bytes; want %d, %d", n, bytes, len(m.queue), m.bytes())
				}
				full, lost := out.overflow()
				if full != m.told || lost != m.lost || calls != m.calls {
					t.Fatalf("full %v lost %v, told %d times; want %v %v %d", full, lost, calls, m.told, m.lost, m.calls)
				}
				if !slices.Equal(delivered, m.delivered) {
					t.Fatalf("delivered %v, want %v", delivered, m.delivered)
				}
				if count.SlowConsumers.Load() != m.slows {
					t.Fatalf("%d times slow, want %d", count.SlowConsumers.Load(), m.slows)
				}
				for d, n := range m.dropped {
					if count.Dropped.Get(d) != n {
						t.Fatalf("%d dropped as %v, want %d", count.Dropped.Get(d), d, n)
					}
				}
				held := 0
				for _, f := range made.all {
					held += int(refs(f)) - 1
				}
				if held != len(m.queue) {
					t.Fatalf("the outbox holds %d references for %d frames", held, len(m.queue))
				}
			},
		})
		out.close()
		if m.mode == surrendered && open != nil {
			out.Abandon(open)
		}
		made.balanced(t)
	})
}

func TestFastMessagesAreDroppedFromHalfTheBudget(t *testing.T) {
	var made frames
	var count counters.Set
	out := NewOutbox(Budget{BytesMax: 1 << 20, MessagesMax: 100}, &count, func() { t.Error("full") })
	link := &fakeLink{}
	out.attach(link, counters.WS, wire.NewLoginResult(&wire.LoginResult{Success: true}))
	for range 49 {
		out.Push(made.make(1))
	}
	if out.PushFast(made.make(1)); count.Dropped.Get(counters.DropFastSlowPeer) != 1 {
		t.Error("the 51st message was taken although it is a fast one")
	}
	for range 25 {
		out.Push(made.make(1))
	}
	if count.SlowConsumers.Load() != 0 {
		t.Error("slow at 75 %")
	}
	if out.Push(made.make(1)); count.SlowConsumers.Load() != 1 {
		t.Error("not slow over 75 %")
	}
	out.close()
	made.balanced(t)
}

func TestAQuarterOverTheBudgetIsKeptAndThenLostIsSaid(t *testing.T) {
	var made frames
	var count counters.Set
	calls := 0
	out := NewOutbox(Budget{BytesMax: 1 << 20, MessagesMax: 100}, &count, func() { calls++ })
	for i := range 125 {
		out.Push(made.make(1))
		if want := min(1, i/100); calls != want {
			t.Fatalf("after %d messages the player was told %d times", i+1, calls)
		}
	}
	if _, lost := out.overflow(); lost {
		t.Error("lost at 125 %")
	}
	out.Push(made.make(1))
	if _, lost := out.overflow(); !lost || calls != 1 || count.Dropped.Get(counters.DropOutboxFull) != 1 {
		t.Errorf("lost is %v, told %d times", lost, calls)
	}
	out.close()
	made.balanced(t)
}

// A connection that dies before it takes its LOGIN_RESPONSE leaves none behind:
// the next connection would see two (realtime.md 6.2).
func TestAnUndeliveredLoginResponseGoesWithItsConnection(t *testing.T) {
	var made frames
	var count counters.Set
	out := NewOutbox(Budget{BytesMax: 1 << 20, MessagesMax: 100}, &count, func() {})
	held := made.make(1)
	out.Push(held)
	first, second := made.make(0), made.make(0)
	out.attach(&fakeLink{}, counters.WS, first.Retain())
	out.detach()
	link := &fakeLink{}
	out.attach(link, counters.WS, second.Retain())
	link.drain()
	if want := []int32{second.OpCode(), held.OpCode()}; !slices.Equal(link.got, want) {
		t.Errorf("got %v, want %v", link.got, want)
	}
	out.detach()
	out.close()
	made.balanced(t)
}

// Pushers, a writer per connection and the ruling actor at the same time: every
// reliable frame arrives exactly once and in its pusher's order.
func TestConcurrentPushDrainAndAttachLoseNothing(t *testing.T) {
	const pushers, each = 4, 3000
	var made frames
	var count counters.Set
	out := NewOutbox(Budget{BytesMax: 1 << 30, MessagesMax: 1 << 20}, &count, func() { t.Error("full") })
	var group sync.WaitGroup
	for p := range pushers {
		group.Go(func() {
			for i := range each {
				f := wire.NewFrame(&wire.Header{OpCode: int32(1 + p*each + i)})
				made.mu.Lock()
				made.all = append(made.all, f)
				made.mu.Unlock()
				if out.Push(f) != PushNothing {
					out.Flush()
				}
				if i%7 == 0 {
					out.PushFast(f) // may be dropped while detached
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { group.Wait(); close(done) }()
	var links []*fakeLink
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		link := &fakeLink{on: true, room: 1 + len(links)%5}
		links = append(links, link)
		out.attach(link, counters.WS, wire.NewFrame(&wire.Header{OpCode: -1}))
		for range 20 {
			out.Flush()
		}
		if out.detach() != link {
			t.Fatal("another connection was attached")
		}
	}
	last := &fakeLink{}
	out.attach(last, counters.WS, wire.NewFrame(&wire.Header{OpCode: -1}))
	last.drain()
	links = append(links, last)
	out.close()

	next := make([]int32, pushers)
	total := 0
	for _, l := range links {
		for i, op := range l.ops() {
			if op == -1 {
				if i != 0 {
					t.Fatalf("a greeting in place %d", i)
				}
				continue
			}
			p, n := int(op-1)/each, (op-1)%each
			switch {
			case n == next[p]:
				next[p]++
				total++
			case n == next[p]-1 && n%7 == 0: // its fast copy
			case n < next[p] && n%7 == 0:
			default:
				t.Fatalf("pusher %d: %d after %d", p, n, next[p]-1)
			}
		}
	}
	if total != pushers*each {
		t.Errorf("%d of %d arrived", total, pushers*each)
	}
	made.balanced(t)
}
