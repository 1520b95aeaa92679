package player

import (
	"troupe/messages/counters"
	"troupe/messages/wire"
)

// queue holds, in order, a player's messages that wait or are not confirmed. It also keeps their numbers, their limit
// and the gap left by dropped messages. The lock of the Outbox guards it.
type queue struct {
	budget *Budget
	count  *counters.Set

	ring    []item
	head, n int // start and length of the items in ring; confirmed items are removed
	most    int // the highest n since the queue was last empty
	next    int // how many items the current connection has taken
	bytes   int // total size of all items
	waiting int // total size of the items that the current connection has not taken
	granted int // bytes taken from the budget's Pool

	last uint64 // number of the newest message
	base uint64 // the number before that of the oldest item; all messages up to it are confirmed or lost
	sent uint64 // the highest number that any connection has taken

	unnumbered uint64 // how many messages meant for the fast channel were queued

	slow     bool // more than 75 % full; already counted in the metric
	refused  bool // a reliable message was refused, and all later messages will be
	overflow overflowState
	pushed   volume   // volume pushed since slowAt
	slowAt   moment   // time when the queue exceeded 75 %, or of the last attach
	reserve  volume   // limit of the reserve on top of the budget; zero until it is needed
	backlog  *backlog // nil if the queue was empty at the last attach
	gap      *gap     // nil until the first gap
}

// overflowState records what has happened since the budget was used up.
type overflowState uint8

const (
	withinBudget   overflowState = iota // not used up since the last attach or detach
	overBudget                          // the budget is used up, and the player actor was told
	cutOff                              // like overBudget, but messages of the attached connection were dropped: it gets no more
	onReserve                           // the queue was full when it was detached, so further messages go into the reserve
	reserveRefused                      // like onReserve, but a message was refused, and the player actor was told
)

// told reports whether the player actor was told about an overflow since the last attach or detach.
func (s overflowState) told() bool { return s == overBudget || s == cutOff || s == reserveRefused }

// spilled reports whether the queue was full when it was detached.
func (s overflowState) spilled() bool { return s >= onReserve }

// afterPush returns the state after a push. over: the budget had no room. cut: messages of the attached connection were
// dropped to make room. refused: this message or an earlier one was refused. It returns tell if the player actor must
// be told.
func (s overflowState) afterPush(over, cut, refused bool) (next overflowState, tell bool) {
	switch {
	case s == onReserve && refused: // until a message is refused, the reserve gives the player time to reconnect
		return reserveRefused, true
	case s.spilled(), !over:
		return s, false
	case cut:
		return cutOff, !s.told()
	}
	return max(s, overBudget), !s.told()
}

// afterDetach returns the state after a detach. attached says whether a connection was attached until then.
func (s overflowState) afterDetach(attached bool) overflowState {
	if s.spilled() || attached && s.told() {
		return onReserve
	}
	return withinBudget
}

type volume struct{ bytes, messages int }

// backlog is the volume of unconfirmed messages that are older than the connection. It does not count against the
// budget, so a player that reconnects to a full queue has time to receive it.
type backlog struct {
	upTo            uint64
	bytes, messages int
}

// less subtracts a released item from the backlog. b may be nil.
func (b *backlog) less(it *item) {
	if b != nil && it.n != 0 && it.n <= b.upTo {
		b.bytes, b.messages = max(0, b.bytes-it.f.Len()), max(0, b.messages-1)
	}
}

// item is one message. f is nil if the item is released but must wait in the ring for older items.
type item struct {
	f *wire.Frame
	n uint64 // the message's number; 0 if it was meant for the fast channel
}

// put queues a reliable message, or refuses it and all later ones. over says that the budget has no room for the
// message.
func (q *queue) put(f *wire.Frame, size int, over bool) {
	if q.refused || over && q.exceeds(size, true) { // no message may follow a refused one (RL-2)
		q.refused = true
		q.count.Dropped.Add(counters.DropOutboxFull, 1)
		return
	}
	q.last++
	q.enqueue(item{f, q.last}, size)
}

// putFast queues a message meant for the fast channel, unless the queue is more than half full.
func (q *queue) putFast(f *wire.Frame, size int) bool {
	if q.bytes+size > q.budget.BytesMax/2 || q.n+1 > q.budget.MessagesMax/2 || !q.grant(size) {
		q.count.Dropped.Add(counters.DropFastSlowPeer, 1)
		return false
	}
	q.enqueue(item{f: f}, size)
	q.unnumbered++
	return true
}

// exceeds reports whether size more bytes exceed the budget. If reserve is true, the reserve counts as part of the
// budget.
func (q *queue) exceeds(size int, reserve bool) bool {
	most := q.limit(reserve)
	if q.bytes+size > most.bytes || q.n+1 > most.messages {
		return true // D-131
	}
	return !q.grant(size) && (!reserve || q.counted()+size > poolFree+poolGrain+q.granted)
}

// limit returns the limit of the queue, including the reserve if reserve is true.
func (q *queue) limit(reserve bool) volume {
	v := volume{q.budget.BytesMax, q.budget.MessagesMax}
	if b := q.backlog; b != nil {
		v.bytes, v.messages = v.bytes+b.bytes, v.messages+b.messages
	}
	if reserve {
		v.bytes, v.messages = v.bytes+q.reserve.bytes, v.messages+q.reserve.messages
	}
	return v
}

func (q *queue) enqueue(it item, size int) {
	if q.n == len(q.ring) {
		q.grow()
	}
	it.f.Retain()
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = it
	q.n++
	q.most = max(q.most, q.n)
	q.bytes += size
	q.waiting += size
	if !q.slow && (q.bytes > q.budget.BytesMax/4*3 || q.n > q.budget.MessagesMax/4*3) {
		q.slow, q.slowAt, q.pushed = true, now(), volume{}
		q.count.SlowConsumers.Add(1)
	}
}

func (q *queue) grow() {
	next := make([]item, max(4, 2*len(q.ring)))
	for i := range q.n {
		next[i] = *q.at(i)
	}
	q.ring, q.head = next, 0
}

func (q *queue) at(i int) *item { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

// take returns the next message for the connection. It returns nil if there is none.
func (q *queue) take() *item {
	for q.next < q.n {
		it := q.at(q.next)
		q.next++
		if it.f != nil {
			q.waiting -= it.f.Len()
			return it
		}
	}
	return nil
}

// release releases an item that the connection has taken. The empty item stays in the ring until it is the oldest.
func (q *queue) release(it *item) {
	q.bytes -= it.f.Len()
	q.backlog.less(it)
	it.f.Release()
	it.f = nil
}

// trim removes released items at the head.
func (q *queue) trim() {
	for q.n > 0 && q.at(0).f == nil {
		q.pop()
	}
	if q.slow && q.bytes <= q.budget.BytesMax/2 && q.n <= q.budget.MessagesMax/2 {
		q.slow = false
	}
	if q.n == 0 {
		q.emptied()
	}
	q.giveBack()
}

// pop removes and returns the oldest item. The queue must not be empty. The caller releases the item's frame.
func (q *queue) pop() item {
	it := *q.at(0)
	*q.at(0) = item{}
	q.head = (q.head + 1) & (len(q.ring) - 1)
	q.n--
	if it.f != nil {
		q.bytes -= it.f.Len()
	}
	if q.next > 0 {
		q.next--
	} else if it.f != nil {
		q.waiting -= it.f.Len()
	}
	q.base = max(q.base, it.n)
	if it.f != nil {
		q.backlog.less(&it)
	}
	return it
}

func (q *queue) clear() {
	for q.n > 0 {
		if it := q.pop(); it.f != nil {
			it.f.Release()
		}
	}
	q.trim()
}

// emptied frees the ring unless it is small or was well used since the queue was last empty. A stock client confirms up
// to markCount messages at a time, and its ring would otherwise grow from zero each time.
func (q *queue) emptied() {
	if len(q.ring) > ringKeepMax && (q.most <= len(q.ring)/4 || len(q.ring) > 2*markCount) {
		q.ring = nil
	}
	q.slow, q.head, q.most = false, 0, 0
}

// ringKeepMax is the capacity, in messages, that an empty queue always keeps. It is enough for the unconfirmed messages
// of an ordinary player.
const ringKeepMax = 64

// begin prepares the queue for a new connection. All items become its backlog. It returns the count of those that an
// earlier connection had taken.
func (q *queue) begin() (again Replay) {
	q.overflow = withinBudget
	q.slowAt, q.pushed, q.reserve = now(), volume{}, volume{}
	q.backlog = nil
	if q.n == 0 {
		return Replay{}
	}
	old := backlog{upTo: q.last}
	for i := range q.n {
		it := q.at(i)
		if it.f == nil || it.n == 0 {
			continue
		}
		size := it.f.Len()
		old.messages, old.bytes = old.messages+1, old.bytes+size
		if it.n <= q.sent {
			again.Messages, again.Bytes = again.Messages+1, again.Bytes+size
		}
	}
	old.bytes, old.messages = min(old.bytes, q.budget.BytesMax), min(old.messages, q.budget.MessagesMax)
	q.backlog = &old
	return again
}

// rewind makes the next connection start at the first unconfirmed message.
func (q *queue) rewind() {
	for i := q.next; i < q.n; i++ {
		if it := q.at(i); it.n == 0 && it.f != nil {
			q.release(it)
		}
	}
	q.next, q.waiting = 0, q.bytes
	q.trim()
}

// forgetHeld discards all messages queued before a first connection, and resets the numbers.
func (q *queue) forgetHeld() {
	q.clear()
	q.overflow, q.refused = withinBudget, false
	q.last, q.base, q.reserve = 0, 0, volume{}
}

// confirmUpTo releases the messages up to number n.
func (q *queue) confirmUpTo(n uint64) {
	if q.n > fewFrames {
		q.confirmMany(n)
		return
	}
	var few [fewFrames]*wire.Frame
	q.confirm(n, few[:])
}

// fewFrames is the largest number of frames of an idle player. Releasing that many frames needs no more than the
// reader's stack of 2 KiB.
const fewFrames = 8

// confirmMany is not inlined, so that its large stack frame is used only when it is called.
//
//go:noinline
func (q *queue) confirmMany(n uint64) {
	var many [64]*wire.Frame
	q.confirm(n, many[:])
}

// confirm implements confirmUpTo. It collects the released frames in room and releases them all when room is full.
func (q *queue) confirm(n uint64, room []*wire.Frame) {
	k := 0
	for q.n > 0 {
		if it := q.at(0); it.f != nil && (it.n == 0 || it.n > n) {
			break
		}
		it := q.pop()
		if it.f == nil {
			continue
		}
		room[k] = it.f
		if k++; k == len(room) {
			wire.ReleaseAll(room)
			k = 0
		}
	}
	wire.ReleaseAll(room[:k])
	q.trim()
}

// unconfirmedOverHalf reports whether unconfirmed messages fill more than half of the budget.
func (q *queue) unconfirmedOverHalf() bool {
	return q.bytes-q.waiting > q.budget.BytesMax/2 || q.next > q.budget.MessagesMax/2
}

// releaseTaken releases all messages that the connection has taken, as if they were confirmed.
func (q *queue) releaseTaken() {
	for i := range q.next {
		if it := q.at(i); it.f != nil {
			q.release(it)
		}
	}
	q.trim()
}

// consistent checks the invariants that a restarted player actor relies on (reliability.md 4).
func (q *queue) consistent() bool {
	n, bytes := q.base, 0
	for i := range q.n {
		it := q.at(i)
		if it.f != nil {
			bytes += it.f.Len()
		}
		if it.n == 0 {
			continue
		}
		if it.n != n+1 {
			return false
		}
		n = it.n
	}
	return n == q.last && bytes == q.bytes && q.sent <= q.last && q.next <= q.n
}
