package player

import (
	"sync"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// flushAtBytes is how much may gather for one player before it is written
// without waiting for the end of the batch (D-18).
const flushAtBytes = 16 << 10

// Pushed says what the pusher is to do about an outbox.
type Pushed uint8

// Results of a push.
const (
	PushNothing  Pushed = iota // queued or dropped; nothing to do
	PushDirty                  // have it flushed at the end of the batch
	PushFlushNow               // flush it now
)

// Outbox is what one player is still to get, and what it got and has not
// confirmed, in order. It is a wire.Source: the writer of the attached
// connection drains it. Any goroutine may push. The player actor rules it: hold,
// attach, detach, close.
//
// Reliable messages are numbered 1, 2, 3 ... for the life of the player session.
// One leaves when the player has confirmed it (Confirmation), never because it
// was written; the next connection gets what is not confirmed once more, the
// same bytes in the same order (reliability.md 2.4, 2.5). Messages meant for the
// fast channel have no number, leave when they are written, and go with the
// connection.
//
// Overflow, in order (reliability.md 5.1): from 50 % of the budget messages that
// were meant for the fast channel are dropped; at 75 % the player counts as
// slow; at 100 % the player actor is told, which closes the connection as a
// slow consumer and keeps the queue. Until that has happened, and until the player
// is back, a reserve is taken on top. What does not fit then is dropped, and the
// player is told with its next LOGIN_RESPONSE (Budget.Gap, shed.go); or it is
// refused with all that follows, and the player session ends for it.
type Outbox struct {
	count *counters.Set
	full  func() // tells the player actor; called without the lock

	mu sync.Mutex
	// guarded by mu
	queue        queue
	confirmation confirmation
	attachment   attachment
}

// NewOutbox returns an outbox that holds. full is called, once per attach or
// detach, when the budget is used up.
func NewOutbox(b Budget, count *counters.Set, full func()) *Outbox {
	return &Outbox{count: count, full: full, attachment: attachment{state: holding}, queue: queue{budget: b, count: count}}
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
	if !o.attachment.state.takes() {
		o.count.Dropped.Add(counters.DropPlayerGone, 1)
		return PushNothing, false
	}
	q := &o.queue
	q.pushed.bytes, q.pushed.messages = q.pushed.bytes+size, q.pushed.messages+1
	over, cut := q.over(size, false), false
	if over {
		q.makeReserve()
		over, cut = o.makeRoom(size)
	}
	q.put(f, size, over)
	q.overflow, tell = q.overflow.pushed(over, cut, q.refused)
	return o.wantsFlush(), tell
}

// makeRoom drops messages where that is to be done, so that size more bytes fit. Over
// says that the budget has no room for them all the same, and somebody is to be told;
// cut, that messages were dropped under the connection.
func (o *Outbox) makeRoom(size int) (over, cut bool) {
	q := &o.queue
	switch {
	case !q.budget.Gap:
	case o.attachment.state == detached:
		q.shed(size, q.overflow.spilled())
		return false, false
	case o.attachment.state.serves() && q.over(size, true): // the player actor has not acted yet
		q.shed(size, true)
		return true, true
	}
	return true, false
}

// PushFast queues a message meant for the fast channel of a player that cannot
// take it there. It is dropped when the player is slow or away.
func (o *Outbox) PushFast(f *wire.Frame) Pushed {
	size := f.Len()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.attachment.state.takes():
		o.count.Dropped.Add(counters.DropPlayerGone, 1)
		return PushNothing
	case o.attachment.state == detached:
		o.count.Dropped.Add(counters.DropFastDetached, 1)
		return PushNothing
	case !o.queue.putFast(f, size):
		return PushNothing
	}
	return o.wantsFlush()
}

func (o *Outbox) wantsFlush() Pushed {
	switch {
	case !o.attachment.state.serves() || o.queue.overflow == cutOff || o.queue.next == o.queue.n && !o.confirmation.ackNow:
		return PushNothing
	case o.queue.waiting >= flushAtBytes:
		return PushFlushNow
	case o.attachment.dirty:
		return PushNothing
	}
	o.attachment.dirty = true
	return PushDirty
}

// Flush has the attached connection write what is queued. It does not block.
func (o *Outbox) Flush() {
	o.mu.Lock()
	var link Link
	if o.attachment.state.serves() {
		link = o.attachment.link
	}
	o.attachment.dirty = false
	o.mu.Unlock()
	if link != nil {
		link.Flush()
	}
}

// Drain implements wire.Source for the attached connection.
func (o *Outbox) Drain(sink wire.Sink) (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.attachment.state.drains() || o.queue.overflow == cutOff {
		return false
	}
	taken, room := int64(0), true
	if o.attachment.greeting != nil {
		room = sink.Append(o.attachment.greeting)
		o.attachment.dropGreeting()
		taken++
	}
	for room {
		it := o.queue.take()
		if it == nil {
			break
		}
		room = o.give(sink, it)
		taken++
	}
	o.count.Delivered.Add(o.attachment.channel, taken)
	if o.confirmation.ackNow {
		o.confirmation.giveAck(sink)
	}
	o.queue.trim()
	return o.queue.next < o.queue.n
}

// give appends one item to sink and lets go of it if nothing will confirm it.
func (o *Outbox) give(sink wire.Sink, it *item) (room bool) {
	q, c := &o.queue, &o.confirmation
	if it.n == 0 {
		room = sink.Append(it.f)
		q.release(it)
		return room
	}
	if c.how == ByAcks {
		room = sink.AppendNumbered(it.f, it.n, c.takeAck())
	} else {
		room = sink.Append(it.f)
	}
	q.sent = max(q.sent, it.n)
	markDue := c.gave(it.n, it.f.Len(), &q.budget)
	switch {
	case c.how == ByWriting:
		q.release(it)
	case !markDue:
	case sink.Mark(c.position):
		c.asked()
	default:
		c.refused()
		q.releaseTaken()
	}
	return room
}

// terms are how a connection is attached.
type terms struct {
	link    Link
	channel counters.Channel
	epoch   messages.Epoch
	confirm Confirmation
	// greet builds LOGIN_RESPONSE, of which the outbox takes the reference.
	greet func(standing) *wire.Frame
}

// standing is where both sides are, for LOGIN_RESPONSE.
type standing struct {
	base      uint64 // the number before the first that will follow
	confirmed uint64 // the highest that the player has acknowledged
	received  uint64 // what has come from the player
	unsent    uint64 // messages dropped so far before they were given to a connection
}

// attach gives the queue to a connection: LOGIN_RESPONSE first, then what is not
// confirmed. It tells what of that was given to a connection before. The caller
// flushes.
func (o *Outbox) attach(t terms) (again Replay) {
	o.mu.Lock()
	o.attachment.begin(t.link, t.channel, t.epoch)
	o.confirmation.begin(t.confirm, o.queue.base)
	again = o.queue.begin()
	o.attachment.greeting = t.greet(standing{base: o.queue.base, confirmed: o.confirmation.confirmed, received: o.confirmation.ackTold.Load(), unsent: o.queue.gap.unsent})
	o.mu.Unlock()
	t.link.SetSource(o)
	return again
}

// Replay is what a connection is given that one before it was given, too.
type Replay struct{ Messages, Bytes int }

// detach takes the queue away from its connection, which is returned; nil if
// there was none. A LOGIN_RESPONSE that never left goes with the connection: the
// next one gets its own, and only that. So do messages meant for the fast
// channel.
func (o *Outbox) detach() Link {
	o.mu.Lock()
	if o.attachment.state == surrendered {
		o.mu.Unlock()
		return nil
	}
	link := o.attachment.detach()
	o.queue.overflow = o.queue.overflow.detached(link != nil)
	if link != nil {
		o.queue.rewind()
	}
	o.mu.Unlock()
	if link != nil {
		link.SetSource(nil)
	}
	return link
}

// surrender closes the connection but leaves it the queue, so that what the
// game said last is written before the goodbye. Nothing more is taken.
func (o *Outbox) surrender(reason messages.CloseReason) {
	o.mu.Lock()
	link, over := o.attachment.surrender()
	if over {
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
	if o.attachment.abandon(link) {
		o.forget()
	}
}

// forget closes under the lock.
func (o *Outbox) forget() {
	o.attachment.close()
	o.queue.clear()
	o.queue.ring = nil
}

// dropHeld forgets what is held for a first attach that will not come.
func (o *Outbox) dropHeld() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.attachment.state == holding {
		o.queue.forgetHeld()
	}
}

// close forgets everything, unless a closing connection still drains.
func (o *Outbox) close() {
	if link := o.detach(); link != nil {
		link.Close(messages.CloseNormal)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.attachment.state != surrendered {
		o.forget()
	}
}

// overflow reports whether the budget was used up since the last attach or
// detach, and whether a reliable message had to be refused.
func (o *Outbox) overflow() (full, lost bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.overflow.told(), o.queue.refused
}

// Depth returns what is held, in messages and bytes: what waits, and what is not
// confirmed.
func (o *Outbox) Depth() (messages, bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.n, o.queue.bytes
}

// takeGap returns how many messages were lost since it was last asked, to a player
// that has received all up to a number; 0 for one that does not say.
func (o *Outbox) takeGap(received uint64) (n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.takeGap(received)
}

// sound checks what a restarted player actor relies on (reliability.md 4).
func (o *Outbox) sound() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.sound()
}
