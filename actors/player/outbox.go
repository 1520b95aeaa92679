package player

import (
	"sync"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// Budget bounds what may wait for one player (reliability.md 2.4, 5.1, D31).
type Budget struct {
	BytesMax    int // default 1 MiB
	MessagesMax int // default 4096
}

// flushAtBytes is how much may gather for one player before it is written
// without waiting for the end of the batch (DESIGN 5).
const flushAtBytes = 16 << 10

// Pushed says what the pusher is to do about an outbox.
type Pushed uint8

// Results of a push.
const (
	PushNothing  Pushed = iota // queued or dropped; nothing to do
	PushDirty                  // have it flushed at the end of the batch
	PushFlushNow               // flush it now
)

// Outbox is what one player is still to get, in order. It is a wire.Source: the
// writer of the attached connection drains it. Any goroutine may push. The
// player actor rules it: hold, attach, detach, close.
//
// Overflow, in order (reliability.md 5.1): from 50 % of the budget messages that
// were meant for the fast channel are dropped; at 75 % the player counts as
// slow; at 100 % the player actor is told, which closes the connection as a
// slow consumer and keeps the queue. A quarter more is taken until that has
// happened; what does not fit even then is lost, and the player session ends
// for it.
type Outbox struct {
	budget Budget
	count  *counters.Set
	full   func() // tells the player actor; called without the lock

	mu sync.Mutex
	// guarded by mu
	ring    []*wire.Frame
	head, n int
	bytes   int
	mode    outboxMode
	link    Link
	parting Link // surrendered only: the connection that drains the rest
	orphan  bool // link has ended, and its player has not heard yet
	channel counters.Channel
	greets  bool // the head is a LOGIN_RESPONSE that nobody has drained
	dirty   bool // flushing is on somebody's list
	slow    bool // over 75 %, counted
	told    bool // full was called since the last attach or detach
	spilled bool // it was full when its connection went: what is over has the reserve
	lost    bool // a reliable message was refused
}

type outboxMode uint8

const (
	holding     outboxMode = iota + 1 // before the first attach: keep everything
	attached                          // a connection drains
	detached                          // nobody drains: keep the reliable
	surrendered                       // taking nothing more; the closing connection drains the rest
	closed                            // over
)

// NewOutbox returns an outbox that holds. full is called, once per attach or
// detach, when the budget is used up.
func NewOutbox(b Budget, count *counters.Set, full func()) *Outbox {
	return &Outbox{budget: b, count: count, full: full, mode: holding}
}

// Push queues a reliable message; the outbox takes its own reference.
func (o *Outbox) Push(f *wire.Frame) Pushed {
	r, tell := o.push(f)
	if tell {
		o.full()
	}
	return r
}

func (o *Outbox) push(f *wire.Frame) (r Pushed, tell bool) {
	size := f.Len()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mode >= surrendered {
		o.count.Dropped.Add(counters.DropPlayerGone, 1)
		return PushNothing, false
	}
	over := o.bytes+size > o.budget.BytesMax || o.n+1 > o.budget.MessagesMax
	if over && (o.bytes+size > o.budget.BytesMax+o.budget.BytesMax/4 || o.n+1 > o.budget.MessagesMax+o.budget.MessagesMax/4) {
		o.lost = true
		o.count.Dropped.Add(counters.DropOutboxFull, 1)
	} else {
		o.enqueue(f, size)
	}
	if o.mode == detached && o.spilled {
		over = o.lost // the reserve is for the way back
	}
	tell = over && !o.told
	o.told = o.told || over
	return o.wantsFlush(), tell
}

// PushFast queues a message meant for the fast channel of a player that cannot
// take it there. It is dropped when the player is slow or away.
func (o *Outbox) PushFast(f *wire.Frame) Pushed {
	size := f.Len()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mode >= surrendered:
		o.count.Dropped.Add(counters.DropPlayerGone, 1)
		return PushNothing
	case o.mode == detached:
		o.count.Dropped.Add(counters.DropFastDetached, 1)
		return PushNothing
	case o.bytes+size > o.budget.BytesMax/2 || o.n+1 > o.budget.MessagesMax/2:
		o.count.Dropped.Add(counters.DropFastSlowPeer, 1)
		return PushNothing
	}
	o.enqueue(f, size)
	return o.wantsFlush()
}

// enqueue appends under the lock.
func (o *Outbox) enqueue(f *wire.Frame, size int) {
	if o.n == len(o.ring) {
		o.grow()
	}
	o.ring[(o.head+o.n)&(len(o.ring)-1)] = f.Retain()
	o.n++
	o.bytes += size
	if !o.slow && (o.bytes > o.budget.BytesMax/4*3 || o.n > o.budget.MessagesMax/4*3) {
		o.slow = true
		o.count.SlowConsumers.Add(1)
	}
}

func (o *Outbox) grow() {
	next := make([]*wire.Frame, max(4, 2*len(o.ring)))
	for i := range o.n {
		next[i] = o.ring[(o.head+i)&(len(o.ring)-1)]
	}
	o.ring, o.head = next, 0
}

func (o *Outbox) wantsFlush() Pushed {
	switch {
	case o.mode != attached || o.n == 0:
		return PushNothing
	case o.bytes >= flushAtBytes:
		return PushFlushNow
	case o.dirty:
		return PushNothing
	}
	o.dirty = true
	return PushDirty
}

// Flush has the attached connection write what is queued. It does not block.
func (o *Outbox) Flush() {
	o.mu.Lock()
	link := o.link
	o.dirty = false
	o.mu.Unlock()
	if link != nil {
		link.Flush()
	}
}

// Drain implements wire.Source for the attached connection.
func (o *Outbox) Drain(sink wire.Sink) (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mode != attached && o.mode != surrendered {
		return false
	}
	taken := int64(0)
	for room := true; room && o.n > 0; {
		f := o.pop()
		room = sink.Append(f)
		f.Release()
		taken++
	}
	o.count.Delivered.Add(o.channel, taken)
	if taken > 0 {
		o.greets = false
	}
	if o.n == 0 {
		o.emptied()
	}
	return o.n > 0
}

// pop takes the head out, which must be there.
func (o *Outbox) pop() *wire.Frame {
	f := o.ring[o.head]
	o.ring[o.head] = nil
	o.head = (o.head + 1) & (len(o.ring) - 1)
	o.n--
	o.bytes -= f.Len()
	return f
}

// clear releases everything.
func (o *Outbox) clear() {
	for o.n > 0 {
		o.pop().Release()
	}
	o.greets = false
	o.emptied()
}

func (o *Outbox) emptied() {
	o.slow, o.head = false, 0
	if len(o.ring) > ringKeepMax {
		o.ring = nil
	}
}

// ringKeepMax is the capacity that an empty outbox keeps, in messages.
const ringKeepMax = 32

// attach gives the queue to a connection, with first in front of all that
// waits, and consumes first's reference. The caller flushes.
func (o *Outbox) attach(link Link, channel counters.Channel, first *wire.Frame) {
	o.mu.Lock()
	o.mode, o.link, o.channel = attached, link, channel
	o.told, o.spilled, o.dirty, o.orphan, o.greets = false, false, false, false, true
	if o.n == len(o.ring) {
		o.grow()
	}
	o.head = (o.head - 1) & (len(o.ring) - 1)
	o.ring[o.head] = first
	o.n++
	o.bytes += first.Len()
	o.mu.Unlock()
	link.SetSource(o)
}

// detach takes the queue away from its connection, which is returned; nil if
// there was none. A LOGIN_RESPONSE that never left goes with the connection: the
// next one gets its own, and only that.
func (o *Outbox) detach() Link {
	o.mu.Lock()
	if o.mode == surrendered {
		o.mu.Unlock()
		return nil
	}
	link := o.link
	if o.mode == attached {
		o.mode, o.spilled = detached, o.told
	}
	o.link, o.told, o.dirty, o.orphan = nil, false, false, false
	o.mu.Unlock()
	if link != nil {
		link.SetSource(nil)
		o.dropGreeting()
	}
	return link
}

// dropGreeting takes out a LOGIN_RESPONSE that nobody has drained. Nobody drains
// now.
func (o *Outbox) dropGreeting() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.greets {
		return
	}
	o.greets = false
	o.pop().Release()
	if o.n == 0 {
		o.emptied()
	}
}

// surrender closes the connection but leaves it the queue, so that what the
// game said last is written before the goodbye. Nothing more is taken.
func (o *Outbox) surrender(reason messages.CloseReason) {
	o.mu.Lock()
	link := o.link
	if o.mode == attached {
		o.mode, o.parting = surrendered, link
	}
	o.link = nil
	if o.orphan {
		o.forget()
	}
	o.mu.Unlock()
	if link != nil {
		link.Close(reason)
	}
}

// Abandon tells that a connection has ended and drains no more: what was
// surrendered to it is released. Any goroutine may call it.
func (o *Outbox) Abandon(link Link) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.mode == surrendered && o.parting == link:
		o.forget()
	case o.mode == attached && o.link == link:
		o.orphan = true
	}
}

// forget closes under the lock.
func (o *Outbox) forget() {
	o.clear()
	o.mode, o.ring, o.parting = closed, nil, nil
}

// dropHeld forgets what is held for a first attach that will not come.
func (o *Outbox) dropHeld() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mode == holding {
		o.clear()
		o.told, o.lost = false, false
	}
}

// close forgets everything, unless a closing connection still drains.
func (o *Outbox) close() {
	if link := o.detach(); link != nil {
		link.Close(messages.CloseNormal)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.mode != surrendered {
		o.forget()
	}
}

// overflow reports whether the budget was used up since the last attach or
// detach, and whether a reliable message had to be refused.
func (o *Outbox) overflow() (full, lost bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.told, o.lost
}

// Depth returns what waits, in messages and bytes.
func (o *Outbox) Depth() (messages, bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.n, o.bytes
}
