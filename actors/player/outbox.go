package player

import (
	"sync"
	"sync/atomic"
	"time"

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
	budget Budget
	count  *counters.Set
	full   func() // tells the player actor; called without the lock

	// received is the highest number that the game session has of the player; it
	// alone writes it. told is what of that the player knows by ack.
	received, ackTold atomic.Uint64

	mu sync.Mutex
	// guarded by mu
	ring    []item
	head, n int // the items held: confirmed ones are gone
	next    int // of them, how many this connection has taken
	bytes   int // of the items held
	waiting int // of those, bytes this connection has not taken
	granted int // bytes taken from the budget's Pool
	last    uint64
	base    uint64 // the number before the oldest held: what is up to it is confirmed, or lost
	sent    uint64 // the highest ever given to a connection
	mode    outboxMode
	link    Link
	parting Link // surrendered only: the connection that drains the rest
	orphan  bool // link has ended, and its player has not heard yet
	// abandoned is the last link that ended while it was not attached.
	abandoned Link
	channel   counters.Channel
	greeting  *wire.Frame // LOGIN_RESPONSE, until the connection takes it
	dirty     bool        // flushing is on somebody's list
	slow      bool        // over 75 %, counted
	told      bool        // full was called since the last attach or detach
	spilled   bool        // it was full when its connection went: what is over has the reserve
	lost      bool        // a reliable message was refused
	choked    bool        // messages were dropped under the connection: it gets nothing more
	pushed    volume      // since slowAt
	slowAt    time.Time   // since when it is over 75 %, or the last attach
	reserve   volume      // on top of the budget; zero before it is needed
	gap       gap
	old       backlog
	confirming
}

// volume is an amount of messages.
type volume struct{ bytes, messages int }

// backlog is what a player had to get when its connection was attached, as long as
// it is not confirmed, and never more than the budget: the budget is for what
// comes after that, so that a player who comes back to a full queue has the time
// to receive it.
type backlog struct {
	upTo            uint64
	bytes, messages int
}

// less takes out what is let go of.
func (b *backlog) less(it *item) {
	if it.n != 0 && it.n <= b.upTo {
		b.bytes, b.messages = max(0, b.bytes-it.f.Len()), max(0, b.messages-1)
	}
}

// item is one message; f is nil once it is gone and older ones are not.
type item struct {
	f *wire.Frame
	n uint64 // its number, 0 for one meant for the fast channel
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
	o.pushed.bytes, o.pushed.messages = o.pushed.bytes+size, o.pushed.messages+1
	over := o.over(size, false)
	if over {
		o.makeReserve()
		over = !o.makeRoom(size)
	}
	switch {
	case !o.lost && (!over || !o.over(size, true)): // nothing goes on after a hole (RL-2)
		o.last++
		o.enqueue(item{f, o.last}, size)
	default:
		o.lost = true
		o.count.Dropped.Add(counters.DropOutboxFull, 1)
	}
	if o.mode == detached && o.spilled {
		over = o.lost // the reserve is for the way back
	}
	tell = over && !o.told
	o.told = o.told || over
	return o.wantsFlush(), tell
}

// over reports whether size more bytes pass the budget, or the budget and the
// reserve.
func (o *Outbox) over(size int, reserve bool) bool {
	most := o.most(reserve)
	if o.bytes+size > most.bytes || o.n+1 > most.messages {
		return true
	}
	return !o.grant(size) && (!reserve || o.counted()+size > poolFree+poolGrain+o.granted)
}

// most is how much may be held, with the reserve or without.
func (o *Outbox) most(reserve bool) volume {
	v := volume{o.budget.BytesMax + o.old.bytes, o.budget.MessagesMax + o.old.messages}
	if reserve {
		v.bytes, v.messages = v.bytes+o.reserve.bytes, v.messages+o.reserve.messages
	}
	return v
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
	case o.bytes+size > o.budget.BytesMax/2 || o.n+1 > o.budget.MessagesMax/2 || !o.grant(size):
		o.count.Dropped.Add(counters.DropFastSlowPeer, 1)
		return PushNothing
	}
	o.enqueue(item{f: f}, size)
	return o.wantsFlush()
}

// enqueue appends under the lock.
func (o *Outbox) enqueue(it item, size int) {
	if o.n == len(o.ring) {
		o.grow()
	}
	it.f.Retain()
	o.ring[(o.head+o.n)&(len(o.ring)-1)] = it
	o.n++
	o.bytes += size
	o.waiting += size
	if !o.slow && (o.bytes > o.budget.BytesMax/4*3 || o.n > o.budget.MessagesMax/4*3) {
		o.slow, o.slowAt, o.pushed = true, time.Now(), volume{}
		o.count.SlowConsumers.Add(1)
	}
}

func (o *Outbox) grow() {
	next := make([]item, max(4, 2*len(o.ring)))
	for i := range o.n {
		next[i] = *o.at(i)
	}
	o.ring, o.head = next, 0
}

// at returns the i-th item held.
func (o *Outbox) at(i int) *item { return &o.ring[(o.head+i)&(len(o.ring)-1)] }

func (o *Outbox) wantsFlush() Pushed {
	switch {
	case o.mode != attached || o.choked || o.next == o.n && !o.ackNow:
		return PushNothing
	case o.waiting >= flushAtBytes:
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
	if o.mode != attached && o.mode != surrendered || o.choked {
		return false
	}
	taken, room := int64(0), true
	if o.greeting != nil {
		room = sink.Append(o.greeting)
		o.dropGreeting()
		taken++
	}
	for room && o.next < o.n {
		it := o.at(o.next)
		o.next++
		if it.f == nil {
			continue
		}
		o.waiting -= it.f.Len()
		room = o.give(sink, it)
		taken++
	}
	o.count.Delivered.Add(o.channel, taken)
	if o.ackNow {
		o.giveAck(sink)
	}
	o.trim()
	return o.next < o.n
}

// give appends one item to sink and lets go of it if nothing will confirm it.
func (o *Outbox) give(sink wire.Sink, it *item) (room bool) {
	size := it.f.Len()
	switch {
	case it.n == 0:
		room = sink.Append(it.f)
		o.release(it)
		return room
	case o.confirm == ByAcks:
		room = sink.AppendNumbered(it.f, it.n, o.takeAck())
	default:
		room = sink.Append(it.f)
	}
	o.position, o.sent = it.n, max(o.sent, it.n)
	if !o.pinged {
		o.ahead += size
	}
	switch o.confirm {
	case ByMarks:
		o.unmarked(sink, size)
	case ByWriting:
		o.release(it)
	}
	return room
}

// release lets go of an item that is taken. Its place stays until it is the
// oldest.
func (o *Outbox) release(it *item) {
	o.bytes -= it.f.Len()
	o.old.less(it)
	it.f.Release()
	it.f = nil
}

// trim takes out what is gone at the head.
func (o *Outbox) trim() {
	for o.n > 0 && o.at(0).f == nil {
		o.pop()
	}
	if o.slow && o.bytes <= o.budget.BytesMax/2 && o.n <= o.budget.MessagesMax/2 {
		o.slow = false
	}
	if o.n == 0 {
		o.emptied()
	}
	o.giveBack()
}

// pop takes the head out, which must be there; the caller releases its frame.
func (o *Outbox) pop() item {
	it := *o.at(0)
	*o.at(0) = item{}
	o.head = (o.head + 1) & (len(o.ring) - 1)
	o.n--
	if it.f != nil {
		o.bytes -= it.f.Len()
	}
	if o.next > 0 {
		o.next--
	} else if it.f != nil {
		o.waiting -= it.f.Len()
	}
	o.base = max(o.base, it.n)
	if it.f != nil {
		o.old.less(&it)
	}
	return it
}

// clear releases everything.
func (o *Outbox) clear() {
	for o.n > 0 {
		if it := o.pop(); it.f != nil {
			it.f.Release()
		}
	}
	o.dropGreeting()
	o.trim()
}

func (o *Outbox) emptied() {
	o.slow, o.head = false, 0
	if len(o.ring) > ringKeepMax {
		o.ring = nil
	}
}

// ringKeepMax is the capacity that an empty outbox keeps, in messages: what is
// on its way to confirm for an ordinary player, so that it is not made anew
// after every ack.
const ringKeepMax = 64

func (o *Outbox) dropGreeting() {
	if o.greeting != nil {
		o.greeting.Release()
		o.greeting = nil
	}
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
	o.mode, o.link, o.channel = attached, t.link, t.channel
	o.told, o.spilled, o.dirty, o.choked = false, false, false, false
	o.orphan, o.abandoned = o.abandoned == t.link, nil
	o.slowAt, o.pushed, o.reserve = time.Now(), volume{}, volume{}
	o.begin(t.epoch, t.confirm)
	o.old = backlog{upTo: o.last}
	for i := range o.n {
		it := o.at(i)
		if it.f == nil || it.n == 0 {
			continue
		}
		size := it.f.Len()
		o.old.messages, o.old.bytes = o.old.messages+1, o.old.bytes+size
		if it.n <= o.sent {
			again.Messages, again.Bytes = again.Messages+1, again.Bytes+size
		}
	}
	o.old.bytes, o.old.messages = min(o.old.bytes, o.budget.BytesMax), min(o.old.messages, o.budget.MessagesMax)
	o.greeting = t.greet(standing{base: o.base, confirmed: o.confirmed, received: o.ackTold.Load(), unsent: o.gap.unsent})
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
	if o.mode == surrendered {
		o.mu.Unlock()
		return nil
	}
	link := o.link
	if o.mode == attached {
		o.mode, o.spilled = detached, o.told
		o.dropGreeting()
		o.rewind()
	}
	o.link, o.told, o.dirty, o.orphan = nil, false, false, false
	o.mu.Unlock()
	if link != nil {
		link.SetSource(nil)
	}
	return link
}

// rewind has the next connection begin with what is not confirmed.
func (o *Outbox) rewind() {
	for i := o.next; i < o.n; i++ {
		if it := o.at(i); it.n == 0 && it.f != nil {
			o.release(it)
		}
	}
	o.next, o.waiting = 0, o.bytes
	o.trim()
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
	default: // it may be about to be attached
		o.abandoned = link
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
		o.last, o.base, o.reserve = 0, 0, volume{}
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

// Depth returns what is held, in messages and bytes: what waits, and what is not
// confirmed.
func (o *Outbox) Depth() (messages, bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.n, o.bytes
}
