package player

import (
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors/actorstest/assert"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// model is a simple reference implementation of an Outbox.
type model struct {
	mode                  attachState
	confirm               Confirmation
	greeting              bool
	queue                 []modelFrame // messages that are held, including holes for released messages
	next                  int
	last, base            uint64
	sent                  uint64
	told, lost            bool
	spilled               bool
	dirty                 bool
	calls                 int // number of calls of full
	delivered             []int32
	dropped               map[counters.Drop]int64
	slow                  bool
	slows                 int64
	orphan                bool
	ack                   uint64
	gap                   bool
	gaps                  uint64
	oldUpTo               uint64
	oldBytes, oldMessages int
	choked                bool
	reserve               func() volume // the outbox's own reserve; TestTheReserveIsInSeconds checks it
}

type modelFrame struct {
	op   int32
	size int
	n    uint64 // 0 if the frame was meant for the fast channel
	gone bool
}

func bytesOf(q []modelFrame) (n int) {
	for _, f := range q {
		if !f.gone {
			n += f.size
		}
	}
	return n
}

// over reports whether one more frame would exceed the given percentage of the budget.
func (m *model) over(b Budget, size int, percent int) bool {
	most := volume{b.BytesMax * percent / 100, b.MessagesMax * percent / 100}
	if percent >= 100 { // the messages that were queued at the attach have extra room
		most.bytes, most.messages = most.bytes+m.oldBytes, most.messages+m.oldMessages
	}
	return m.passes(most, size)
}

func (m *model) passes(most volume, size int) bool {
	return bytesOf(m.queue)+size > most.bytes || len(m.queue)+1 > most.messages
}

// all returns how much may be held, including the reserve.
func (m *model) all(b Budget) volume {
	r := m.reserve()
	return volume{b.BytesMax + m.oldBytes + r.bytes, b.MessagesMax + m.oldMessages + r.messages}
}

// shed drops the oldest frames, an eighth of the limit more than necessary. Frames for the fast channel are dropped
// first. The model has only one sender.
func (m *model) shed(b Budget, size int, reserve bool) {
	most := volume{b.BytesMax + m.oldBytes, b.MessagesMax + m.oldMessages}
	if reserve {
		most = m.all(b)
	}
	if !m.passes(most, size) {
		return
	}
	m.oldUpTo = 0
	reliable := volume{}
	for _, f := range m.queue {
		if f.n != 0 && !f.gone {
			reliable.bytes, reliable.messages = reliable.bytes+f.size, reliable.messages+1
		}
	}
	over := volume{reliable.bytes - max(0, most.bytes-most.bytes/8-size), reliable.messages - max(0, most.messages-most.messages/8-1)}
	var kept []modelFrame
	next := m.next
	for i, f := range m.queue {
		goes := !f.gone && (f.n == 0 || over.bytes > 0 || over.messages > 0)
		if !goes {
			kept = append(kept, f)
			continue
		}
		if i < m.next {
			next--
		}
		m.let(&f)
		if f.n != 0 {
			over.bytes, over.messages = over.bytes-f.size, over.messages-1
			m.gaps++
			m.dropped[counters.DropOutboxFull]++
			m.base = f.n
		}
	}
	m.queue, m.next = kept, next
	m.sent = max(m.sent, m.base)
	m.trim(b)
}

func (m *model) add(b Budget, f modelFrame) {
	m.queue = append(m.queue, f)
	if !m.slow && (bytesOf(m.queue) > b.BytesMax*75/100 || len(m.queue) > b.MessagesMax*75/100) {
		m.slow = true
		m.slows++
	}
}

func (m *model) wants() Pushed {
	switch {
	case m.mode != attached || m.choked || m.next == len(m.queue):
		return PushNothing
	case bytesOf(m.queue[m.next:]) >= flushAtBytes:
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
	switch {
	case !over || !m.gap:
	case m.mode == detached:
		m.shed(b, f.size, m.spilled) // the queue was full when it was detached, so the reserve counts
		over = false
	case m.mode == attached && m.passes(m.all(b), f.size):
		m.choked = true
		m.shed(b, f.size, true)
	}
	switch f.n = m.last + 1; {
	case !m.lost && (!over || !m.passes(m.all(b), f.size)):
		m.last++
		m.add(b, f)
	default:
		m.lost = true
		m.dropped[counters.DropOutboxFull]++
	}
	if m.mode == detached && m.spilled {
		over = m.lost // the queue was full when it was detached: the reserve is for the time until the player reconnects
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

// let marks a frame as released.
func (m *model) let(f *modelFrame) {
	if !f.gone && f.n != 0 && f.n <= m.oldUpTo {
		m.oldBytes, m.oldMessages = max(0, m.oldBytes-f.size), max(0, m.oldMessages-1)
	}
	f.gone = true
}

func (m *model) pop() {
	m.let(&m.queue[0])
	m.base = max(m.base, m.queue[0].n)
	m.queue = m.queue[1:]
	m.next = max(0, m.next-1)
}

func (m *model) trim(b Budget) {
	for len(m.queue) > 0 && m.queue[0].gone {
		m.pop()
	}
	if bytesOf(m.queue) <= b.BytesMax/2 && len(m.queue) <= b.MessagesMax/2 {
		m.slow = false
	}
}

func (m *model) confirmUpTo(b Budget, n uint64) {
	for len(m.queue) > 0 && (m.queue[0].gone || m.queue[0].n != 0 && m.queue[0].n <= n) {
		m.pop()
	}
	m.trim(b)
}

func (m *model) clear() { m.queue, m.next, m.greeting, m.slow = nil, 0, false, false }

func (m *model) detach(b Budget) {
	if m.mode == surrendered {
		return
	}
	if m.mode == attached {
		m.mode, m.spilled, m.greeting = detached, m.told, false
		for i := range m.queue {
			if f := &m.queue[i]; f.n == 0 {
				f.gone = true
			}
		}
		m.next = 0
		m.trim(b)
	}
	m.told, m.dirty, m.orphan = false, false, false
}

func (m *model) drain(b Budget, room int) {
	if m.mode != attached && m.mode != surrendered || m.choked {
		return
	}
	taken := 0
	if m.greeting {
		m.greeting = false
		m.delivered = append(m.delivered, greetingOp)
		taken++
	}
	for m.next < len(m.queue) && (room == 0 || taken < room) {
		f := &m.queue[m.next]
		m.next++
		if f.gone {
			continue
		}
		taken++
		m.delivered = append(m.delivered, f.op)
		m.sent = max(m.sent, f.n)
		if f.n == 0 || m.confirm == ByWriting {
			m.let(f)
		}
	}
	m.trim(b)
}

var sizes = []int{0, 10, 400, 3000, 9000}

const greetingOp = -77

// by returns attachOptions with epoch 0.
func by(l Link, how Confirmation) attachOptions {
	return attachOptions{link: l, channel: counters.WS, confirm: how, loginResponse: greet}
}

func greet(resumePoint) *wire.Frame { return wire.NewFrame(&wire.Header{OpCode: greetingOp}) }

func TestOutboxBehavesLikeItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pool := NewPool(1 << 30)
		b := Budget{BytesMax: 40_000, MessagesMax: 24, Gap: rapid.Bool().Draw(t, "gap"), Pool: pool}
		var (
			made      frames
			count     counters.Set
			calls     int
			links     []*fakeLink
			delivered []int32
			open      *fakeLink // the link that is attached, or that is closing and still drains the queue
			epoch     messages.Epoch
		)
		out := newOutbox(&b, &count, func() { calls++ })
		m := &model{mode: holding, dropped: make(map[counters.Drop]int64), gap: b.Gap, reserve: func() volume { return out.queue.reserve }}
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
				epoch++
				confirm := rapid.SampledFrom([]Confirmation{ByWriting, ByMarks, ByAcks}).Draw(t, "confirm")
				again := out.attach(attachOptions{link: open, channel: counters.WS, epoch: epoch, confirm: confirm, loginResponse: greet})
				want := Replay{}
				for _, f := range m.queue {
					if !f.gone && f.n != 0 && f.n <= m.sent {
						want.Messages++
						want.Bytes += f.size
					}
				}
				if again != want {
					t.Fatalf("replay %+v, want %+v", again, want)
				}
				m.mode, m.told, m.spilled, m.dirty, m.orphan, m.choked = attached, false, false, false, false, false
				m.greeting, m.confirm, m.ack = true, confirm, m.base
				m.oldUpTo, m.oldBytes, m.oldMessages = m.last, 0, 0
				for _, f := range m.queue {
					if !f.gone && f.n != 0 {
						m.oldBytes, m.oldMessages = min(m.oldBytes+f.size, b.BytesMax), min(m.oldMessages+1, b.MessagesMax)
					}
				}
			},
			"drain": func(t *rapid.T) {
				if open == nil {
					t.Skip("no connection")
				}
				before := len(open.got)
				more := open.drain()
				delivered = append(delivered, open.got[before:]...)
				m.drain(b, open.room)
				if (m.mode == attached || m.mode == surrendered) && more != (!m.choked && m.next < len(m.queue)) {
					t.Fatalf("more is %v", more)
				}
			},
			"ack": func(t *rapid.T) {
				e, n := epoch-messages.Epoch(rapid.IntRange(0, 1).Draw(t, "older")), rapid.Uint64Range(0, m.last+1).Draw(t, "n")
				ok := out.Acked(e, n)
				switch {
				case e != epoch || m.mode != attached:
					if !ok {
						t.Fatal("an old ack is a violation")
					}
				case m.confirm != ByAcks || n > m.sent || n < m.ack:
					if ok {
						t.Fatalf("ack %d is taken: sent %d, acked %d", n, m.sent, m.ack)
					}
				default:
					if !ok {
						t.Fatalf("ack %d is not taken: sent %d, acked %d", n, m.sent, m.ack)
					}
					m.ack = n
					m.confirmUpTo(b, n)
				}
			},
			"echo": func(t *rapid.T) {
				mark := out.Mark(epoch, time.Time{}, time.Time{})
				if m.mode != attached || m.confirm != ByMarks {
					t.Skip("no marks")
				}
				out.Echoed(epoch, strconv.AppendUint(nil, mark, 10))
				m.confirmUpTo(b, mark)
			},
			"confirmBeforeAttach": func(t *rapid.T) {
				if m.mode != detached {
					t.Skip("not on the way back")
				}
				n := rapid.Uint64Range(m.base, max(m.base, m.sent)).Draw(t, "n")
				out.confirmBeforeAttach(n)
				m.confirmUpTo(b, min(n, m.sent))
			},
			"detach": func(t *rapid.T) {
				link := out.detach()
				if (link != nil) != (m.mode == attached) {
					t.Fatalf("detached %v", link)
				}
				m.detach(b)
			},
			"surrender": func(t *rapid.T) {
				if rapid.IntRange(0, 3).Draw(t, "seldom") > 0 {
					t.Skip("one draw in some: it ends or begins much")
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
					t.Skip("one draw in some: it ends or begins much")
				}
				i := rapid.IntRange(0, len(links)-1).Draw(t, "link") // an old link must have no effect
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
				out.DropHeld()
				if m.mode == holding {
					m.clear()
					m.told, m.lost, m.last, m.base = false, false, 0, 0
				}
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "seldom") > 0 {
					t.Skip("one draw in some: it ends or begins much")
				}
				out.close()
				m.detach(b)
				if m.mode != surrendered {
					m.mode = closed
					m.clear()
				}
			},
			"": func(t *rapid.T) {
				if n, bytes := depth(out); n != len(m.queue) || bytes != bytesOf(m.queue) {
					t.Fatalf("%d messages, %d bytes; want %d, %d", n, bytes, len(m.queue), bytesOf(m.queue))
				}
				full, lost := out.exhausted()
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
				if n := out.queue.makeGap().numbered + out.queue.gap.fresh; n != m.gaps {
					t.Fatalf("%d lost, want %d", n, m.gaps)
				}
				if m.mode != closed && m.mode != surrendered && !out.consistent() {
					t.Fatal("not sound")
				}
				held, want := 0, 0
				for _, f := range made.all {
					held += int(refs(f)) - 1
				}
				for _, f := range m.queue {
					if !f.gone {
						want++
					}
				}
				if held != want {
					t.Fatalf("the outbox holds %d references for %d frames", held, want)
				}
			},
		})
		out.close()
		if m.mode == surrendered && open != nil {
			out.Abandon(open)
		}
		if n := pool.Used(); n != 0 {
			t.Fatalf("%d bytes of the pool are left", n)
		}
		made.balanced(t)
	})
}

// Several pushers, one writer per connection and the controlling actor run concurrently. Every reliable frame must
// arrive exactly once and in the order of its pusher.
func TestConcurrentPushDrainAndAttachLoseNothing(t *testing.T) {
	const pushers, each = 4, 3000
	var made frames
	var count counters.Set
	out := newOutbox(&Budget{BytesMax: 1 << 30, MessagesMax: 1 << 20}, &count, func() { t.Error("full") })
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
					out.PushFast(f) // may be dropped while the outbox is detached
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
		out.attach(by(link, ByWriting))
		for range 20 {
			out.Flush()
		}
		if out.detach() != link {
			t.Fatal("another connection was attached")
		}
	}
	last := &fakeLink{}
	out.attach(by(last, ByWriting))
	last.drain()
	links = append(links, last)
	out.close()

	next := make([]int32, pushers)
	total := 0
	for _, l := range links {
		for i, op := range l.ops() {
			if op == greetingOp {
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
			case n == next[p]-1 && n%7 == 0: // the fast copy of the previous frame
			case n < next[p] && n%7 == 0:
			default:
				t.Fatalf("pusher %d: %d after %d", p, n, next[p]-1)
			}
		}
	}
	assert.Equal(t, "of arrived", total, pushers*each)
	made.balanced(t)
}

// depth returns the number and the total size of the queued messages, both waiting and unconfirmed.
func depth(o *Outbox) (messages, bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.n, o.queue.bytes
}
