package player

import (
	"sync"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// flushAtBytes is the number of waiting bytes at which an outbox is flushed immediately rather than at the end of the
// batch.
const flushAtBytes = 16 << 10 // D-18

// Pushed says what the caller has to do after a push.
type Pushed uint8

// Results of a push.
const (
	PushNothing  Pushed = iota // queued or dropped; nothing to do
	PushDirty                  // flush the outbox at the end of the batch
	PushFlushNow               // flush the outbox now
)

// Outbox is the queue of messages to one player. It holds, in order, messages that wait and messages that were written
// but not confirmed. It is a wire.Source: the writer of the attached connection drains it. Any goroutine may push. The
// player actor attaches, detaches and closes it. Before the first attach it queues all messages.
//
// Reliable messages are numbered 1, 2, 3 ... for the life of the player session. A message is removed when the player
// confirms it (Confirmation), not when it is written. The next connection gets all unconfirmed messages again, with the
// same bytes in the same order (reliability.md 2.4, 2.5). Messages meant for the fast channel have no number. They are
// removed when they are written, and dropped when the connection is detached.
//
// Overflow policy (reliability.md 5.1): From 50 % of the budget on, messages meant for the fast channel are dropped. At
// 75 % the player counts as slow. At 100 % the outbox reports to the player actor, which closes the connection as a
// slow consumer and keeps the queue. From 100 % on, messages go into a reserve on top of the budget until the player
// has reconnected. When the reserve is full too, the policy depends on Budget.Gap. If it is true, messages are dropped,
// and the next LOGIN_RESPONSE tells the player about the gap (shed.go). If it is false, all further messages are
// refused, and the player session ends.
type Outbox struct {
	full func() // reports a full budget to the player actor; called without the lock

	mu sync.Mutex
	// The mutex mu guards the following fields.
	queue        queue
	confirmation confirmation
	attachment   attachment
}

// newOutbox returns an outbox without a connection. Several outboxes may share a budget. The outbox calls full when the
// budget is used up, at most once per attach or detach.
func newOutbox(b *Budget, count *counters.Set, full func()) *Outbox {
	return &Outbox{full: full, attachment: attachment{state: holding}, queue: queue{budget: b, count: count}}
}

// Push queues a reliable message. The outbox takes its own reference to f.
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
		o.queue.count.Dropped.Add(counters.DropPlayerGone, 1)
		return PushNothing, false
	}
	q := &o.queue
	q.pushed.bytes, q.pushed.messages = q.pushed.bytes+size, q.pushed.messages+1
	over, cut := q.exceeds(size, false), false
	if over {
		q.makeReserve()
		over, cut = o.makeRoom(size)
	}
	q.put(f, size, over)
	q.overflow, tell = q.overflow.afterPush(over, cut, q.refused)
	return o.wantsFlush(), tell
}

// makeRoom drops messages to make room for size more bytes, if the policy allows it in the current state. over says
// that the budget is used up and the player actor must be told. cut says that messages of the attached connection were
// dropped.
func (o *Outbox) makeRoom(size int) (over, cut bool) {
	q := &o.queue
	switch {
	case !q.budget.Gap:
	case o.attachment.state == detached:
		q.shed(size, q.overflow.spilled())
		return false, false
	case o.attachment.state.serves() && q.exceeds(size, true): // the player actor has not yet detached the connection
		q.shed(size, true)
		return true, true
	}
	return true, false
}

// PushFast queues a message that was meant for the fast channel but could not use it. The message is dropped if the
// player is slow or detached.
func (o *Outbox) PushFast(f *wire.Frame) Pushed {
	size := f.Len()
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case !o.attachment.state.takes():
		o.queue.count.Dropped.Add(counters.DropPlayerGone, 1)
		return PushNothing
	case o.attachment.state == detached:
		o.queue.count.Dropped.Add(counters.DropFastDetached, 1)
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

// Flush makes the attached connection drain the outbox. It does not block.
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
	if o.attachment.loginResponse != nil {
		room = sink.Append(o.attachment.loginResponse)
		o.attachment.dropLoginResponse()
		taken++
	}
	for room {
		it := o.queue.take()
		if it == nil {
			break
		}
		room = o.appendItem(sink, it)
		taken++
	}
	o.queue.count.Delivered.Add(o.attachment.channel, taken)
	if o.confirmation.ackNow {
		o.confirmation.appendAck(sink)
	}
	o.queue.trim()
	return o.queue.next < o.queue.n
}

// appendItem appends one item to sink. It releases the item at once if nothing will confirm it.
func (o *Outbox) appendItem(sink wire.Sink, it *item) (room bool) {
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
	markDue := c.gave(it.n, it.f.Len(), q.budget)
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

type attachOptions struct {
	link    Link
	channel counters.Channel
	epoch   messages.Epoch
	confirm Confirmation
	// loginResponse builds LOGIN_RESPONSE. The outbox takes over the caller's reference.
	loginResponse func(resumePoint) *wire.Frame
}

// resumePoint is the progress of both directions, for LOGIN_RESPONSE.
type resumePoint struct {
	base      uint64 // the number before that of the first message that will follow
	confirmed uint64 // the highest number that the player has acknowledged
	received  uint64 // the highest number received from the player
	unsent    uint64 // total number of dropped messages that no connection had taken
	untold    uint64 // how many of unsent the player may not know about, because no LOGIN_RESPONSE has provably reported them
}

// attach attaches a connection, which gets LOGIN_RESPONSE first and then all unconfirmed messages. It returns the count
// of those messages that an earlier connection had already taken. The caller must flush.
func (o *Outbox) attach(t attachOptions) (again Replay) {
	o.mu.Lock()
	o.attachment.begin(t.link, t.channel, t.epoch)
	unsent, untold := o.queue.gap.tell(o.confirmation.proved)
	o.confirmation.begin(t.confirm, o.queue.base)
	again = o.queue.begin()
	o.attachment.loginResponse = t.loginResponse(resumePoint{base: o.queue.base, confirmed: o.confirmation.confirmed,
		received: o.confirmation.ackTold.Load(), unsent: unsent, untold: untold})
	o.mu.Unlock()
	t.link.SetSource(o)
	return again
}

// Replay counts the messages that are resent on a new connection.
type Replay struct{ Messages, Bytes int }

// detach detaches the connection and returns it. It returns nil if none is attached. It drops messages for the fast
// channel and an unwritten LOGIN_RESPONSE, because the next connection gets its own.
func (o *Outbox) detach() Link {
	o.mu.Lock()
	if o.attachment.state == surrendered {
		o.mu.Unlock()
		return nil
	}
	link := o.attachment.detach()
	o.queue.overflow = o.queue.overflow.afterDetach(link != nil)
	if link != nil {
		o.queue.rewind()
	}
	o.mu.Unlock()
	if link != nil {
		link.SetSource(nil)
	}
	return link
}

// surrender closes the connection after it has drained the queue, so that the last messages precede the close frame. No
// more messages are queued.
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

// Abandon records that a connection has ended. It releases the queue if the queue was surrendered to that connection.
// Any goroutine may call it.
func (o *Outbox) Abandon(link Link) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.attachment.abandon(link) {
		o.forget()
	}
}

// forget releases all messages and closes the attachment. The caller holds the lock.
func (o *Outbox) forget() {
	o.attachment.close()
	o.queue.clear()
	o.queue.ring = nil
}

// DropHeld discards the messages queued for a login that was not accepted. Only the game session calls it, and queues
// nothing afterwards.
func (o *Outbox) DropHeld() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.attachment.state == holding {
		o.queue.forgetHeld()
	}
}

// close releases all messages, unless a closing connection still drains the queue.
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

// exhausted returns two flags. full: the budget was used up since the last attach or detach. refused: a reliable
// message was refused.
func (o *Outbox) exhausted() (full, refused bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.overflow.told(), o.queue.refused
}

func (o *Outbox) takeGap(received uint64) (n uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.takeGap(received)
}

func (o *Outbox) consistent() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.consistent()
}
