package player

import (
	"time"

	"troupe/messages/counters"
	"troupe/messages/wire"
)

// queue is what one player is still to get and what it has not confirmed, in order:
// the messages, their numbers, their bound, and what was dropped over it. It knows
// nothing of connections and takes no lock: the Outbox does.
type queue struct {
	budget Budget
	count  *counters.Set

	ring    []item
	head, n int // the items held: confirmed ones are gone
	next    int // of them, how many this connection has taken
	bytes   int // of the items held
	waiting int // of those, bytes this connection has not taken
	granted int // bytes taken from the budget's Pool

	last uint64 // the newest number
	base uint64 // the number before the oldest held: what is up to it is confirmed, or lost
	sent uint64 // the highest ever given to a connection

	slow     bool      // over 75 %, counted
	refused  bool      // a reliable message was refused: nothing reliable is taken any more
	pushed   volume    // since slowAt
	slowAt   time.Time // since when it is over 75 %, or the last attach
	reserve  volume    // on top of the budget; zero before it is needed
	old      backlog
	overflow overflow
	gap      gap
}

// overflow is what has come of a queue whose budget is used up.
type overflow uint8

const (
	withinBudget   overflow = iota // since the last attach or detach
	overBudget                     // the player actor was told
	cutOff                         // likewise; messages were dropped under the connection, which gets nothing more
	onReserve                      // it was full when its connection went: what is over has the reserve
	reserveRefused                 // likewise; a message was refused, and the player actor was told
)

// told reports whether the player actor was told since the last attach or detach.
func (s overflow) told() bool { return s == overBudget || s == cutOff || s == reserveRefused }

// spilled reports whether the queue was full when its connection went.
func (s overflow) spilled() bool { return s >= onReserve }

// pushed is the state after a message. Over says that the budget has no room for it, cut
// that messages were dropped under the connection for it, and refused that it, or one
// before it, was refused. Tell says that the player actor is to be told.
func (s overflow) pushed(over, cut, refused bool) (next overflow, tell bool) {
	switch {
	case s == onReserve && refused: // until then, the reserve is for the way back
		return reserveRefused, true
	case s.spilled(), !over:
		return s, false
	case cut:
		return cutOff, !s.told()
	}
	return max(s, overBudget), !s.told()
}

// detached is the state after a detach from a connection, or from none.
func (s overflow) detached(from bool) overflow {
	if s.spilled() || from && s.told() {
		return onReserve
	}
	return withinBudget
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

// put takes a reliable message, or refuses it and all that follow. Over says that the
// budget has no room for it.
func (q *queue) put(f *wire.Frame, size int, over bool) {
	if q.refused || over && q.over(size, true) { // nothing goes on after a hole (RL-2)
		q.refused = true
		q.count.Dropped.Add(counters.DropOutboxFull, 1)
		return
	}
	q.last++
	q.enqueue(item{f, q.last}, size)
}

// putFast takes a message meant for the fast channel, unless the queue is half full.
func (q *queue) putFast(f *wire.Frame, size int) bool {
	if q.bytes+size > q.budget.BytesMax/2 || q.n+1 > q.budget.MessagesMax/2 || !q.grant(size) {
		q.count.Dropped.Add(counters.DropFastSlowPeer, 1)
		return false
	}
	q.enqueue(item{f: f}, size)
	return true
}

// over reports whether size more bytes pass the budget, or the budget and the
// reserve.
func (q *queue) over(size int, reserve bool) bool {
	most := q.most(reserve)
	if q.bytes+size > most.bytes || q.n+1 > most.messages {
		return true
	}
	return !q.grant(size) && (!reserve || q.counted()+size > poolFree+poolGrain+q.granted)
}

// most is how much may be held, with the reserve or without.
func (q *queue) most(reserve bool) volume {
	v := volume{q.budget.BytesMax + q.old.bytes, q.budget.MessagesMax + q.old.messages}
	if reserve {
		v.bytes, v.messages = v.bytes+q.reserve.bytes, v.messages+q.reserve.messages
	}
	return v
}

// enqueue appends under the lock.
func (q *queue) enqueue(it item, size int) {
	if q.n == len(q.ring) {
		q.grow()
	}
	it.f.Retain()
	q.ring[(q.head+q.n)&(len(q.ring)-1)] = it
	q.n++
	q.bytes += size
	q.waiting += size
	if !q.slow && (q.bytes > q.budget.BytesMax/4*3 || q.n > q.budget.MessagesMax/4*3) {
		q.slow, q.slowAt, q.pushed = true, time.Now(), volume{}
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

// at returns the i-th item held.
func (q *queue) at(i int) *item { return &q.ring[(q.head+i)&(len(q.ring)-1)] }

// take returns the next message for the connection, nil if it has taken all.
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

// release lets go of an item that is taken. Its place stays until it is the
// oldest.
func (q *queue) release(it *item) {
	q.bytes -= it.f.Len()
	q.old.less(it)
	it.f.Release()
	it.f = nil
}

// trim takes out what is gone at the head.
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

// pop takes the head out, which must be there; the caller releases its frame.
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
		q.old.less(&it)
	}
	return it
}

// clear releases everything.
func (q *queue) clear() {
	for q.n > 0 {
		if it := q.pop(); it.f != nil {
			it.f.Release()
		}
	}
	q.trim()
}

func (q *queue) emptied() {
	q.slow, q.head = false, 0
	if len(q.ring) > ringKeepMax {
		q.ring = nil
	}
}

// ringKeepMax is the capacity that an empty outbox keeps, in messages: what is
// on its way to confirm for an ordinary player, so that it is not made anew
// after every ack.
const ringKeepMax = 64

// begin makes ready for a connection. What is held now has room of its own from here
// on. It returns what of that was given to a connection before.
func (q *queue) begin() (again Replay) {
	q.overflow = withinBudget
	q.slowAt, q.pushed, q.reserve = time.Now(), volume{}, volume{}
	q.old = backlog{upTo: q.last}
	for i := range q.n {
		it := q.at(i)
		if it.f == nil || it.n == 0 {
			continue
		}
		size := it.f.Len()
		q.old.messages, q.old.bytes = q.old.messages+1, q.old.bytes+size
		if it.n <= q.sent {
			again.Messages, again.Bytes = again.Messages+1, again.Bytes+size
		}
	}
	q.old.bytes, q.old.messages = min(q.old.bytes, q.budget.BytesMax), min(q.old.messages, q.budget.MessagesMax)
	return again
}

// rewind has the next connection begin with what is not confirmed.
func (q *queue) rewind() {
	for i := q.next; i < q.n; i++ {
		if it := q.at(i); it.n == 0 && it.f != nil {
			q.release(it)
		}
	}
	q.next, q.waiting = 0, q.bytes
	q.trim()
}

// forgetHeld forgets what was held before a first connection, numbers included.
func (q *queue) forgetHeld() {
	q.clear()
	q.overflow, q.refused = withinBudget, false
	q.last, q.base, q.reserve = 0, 0, volume{}
}

// confirmUpTo lets go of what is confirmed.
func (q *queue) confirmUpTo(n uint64) {
	var confirmed [64]*wire.Frame
	k := 0
	for q.n > 0 {
		if it := q.at(0); it.f != nil && (it.n == 0 || it.n > n) {
			break
		}
		it := q.pop()
		if it.f == nil {
			continue
		}
		confirmed[k] = it.f
		if k++; k == len(confirmed) {
			wire.ReleaseAll(confirmed[:])
			k = 0
		}
	}
	wire.ReleaseAll(confirmed[:k])
	q.trim()
}

// unconfirmedOverHalf reports whether what the connection has taken fills more than half
// of the budget.
func (q *queue) unconfirmedOverHalf() bool {
	return q.bytes-q.waiting > q.budget.BytesMax/2 || q.next > q.budget.MessagesMax/2
}

// releaseTaken lets go of what the connection has taken, as if it were confirmed.
func (q *queue) releaseTaken() {
	for i := range q.next {
		if it := q.at(i); it.f != nil {
			q.release(it)
		}
	}
	q.trim()
}

// sound checks what a restarted player actor relies on (reliability.md 4).
func (q *queue) sound() bool {
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
