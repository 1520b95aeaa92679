package player

import (
	"math"
	"slices"
	"time"

	"troupe/messages/counters"
)

// What is done about an outbox whose budget is used up: a reserve for as long as the
// way back takes, and behind that the gap. A gap is fair to those who send: nobody's
// messages are dropped for what somebody else has sent over its share.

const (
	// reserveTime is how long the reserve lasts at the rate at which the budget was
	// used up: a client that is closed as a slow consumer is back before that.
	reserveTime = 5 * time.Second
	// reserveLeast is the least part of the budget that the reserve is. It is the
	// budget once more at most.
	reserveLeast = 4
	// shedPart is the part of what may be held that is dropped at a time, so that a full
	// queue is not searched for every message.
	shedPart = 8
	// shedFew is likewise the part of the messages held that goes where shares do not
	// make room, because what was given to a connection goes from the front alone.
	shedFew = 64
)

// gap is what was dropped.
type gap struct {
	// Since it was last told: the highest number dropped and how many with numbers; they
	// are in one piece. A player that has received some of them has not lost those.
	top, numbered uint64
	fresh         uint64 // likewise, those of unsent
	// unsent is how many were dropped, ever, behind others that are kept. They had not
	// been given to a connection, so their numbers went to those behind them.
	unsent uint64
}

// makeReserve decides, once per attach, how much is taken on top of the budget.
func (q *queue) makeReserve() {
	if q.reserve == (volume{}) {
		q.reserve = reserveFor(q.budget, q.pushed, time.Since(q.slowAt))
	}
}

// reserveFor is the reserve for messages of which so many came in a time.
func reserveFor(b Budget, came volume, in time.Duration) volume {
	in = max(in, time.Second) // a burst says little about the rate
	amount := func(came, most int) int {
		return min(max(int(float64(came)*(float64(reserveTime)/float64(in))), most/reserveLeast), most)
	}
	return volume{amount(came.bytes, b.BytesMax), amount(came.messages, b.MessagesMax)}
}

// shed drops messages until size more bytes fit, and some more. Those go who are
// oldest of the senders that have more than their share of the queue. What was given
// to a connection keeps its number, because the player may have it: such a message goes
// only with all that is before it.
func (q *queue) shed(size int, reserve bool) {
	if !q.over(size, reserve) {
		return
	}
	most := q.most(reserve)
	if !q.grant(size) {
		most.bytes = min(most.bytes, poolFree+q.granted-q.counted()+q.bytes)
	}
	to := volume{most.bytes - most.bytes/shedPart - size, most.messages - most.messages/shedPart - 1}
	q.old.upTo = 0 // its room stays: nothing is given before the next attach
	shares := q.sharesOf(to)
	n, next := q.n, q.next
	q.n, q.next = 0, 0
	front := true      // nothing is kept yet
	shift := uint64(0) // numbers given up behind what is kept
	for i := range n {
		it := *q.at(i)
		taken := i < next
		if it.f != nil && (it.n == 0 || (front || it.n > q.sent) && shares[it.f.Sender()].take(it.f.Len())) {
			switch {
			case it.n == 0:
			case front:
				q.lose(it.n)
			default:
				shift++
				q.gap.unsent++
				q.gap.fresh++
			}
			q.drop(&it, taken)
			continue
		}
		if it.n != 0 {
			it.n, front = it.n-shift, false
		}
		*q.at(q.n) = it
		q.n++
		if taken {
			q.next++
		}
	}
	for i := q.n; i < n; i++ {
		*q.at(i) = item{}
	}
	q.last -= shift
	q.count.Dropped.Add(counters.DropOutboxFull, int64(shift))
	few := 0 // what may not go by its sender's share is in the way: some of that, too
	if q.over(size, reserve) {
		few = max(1, q.n/shedFew)
	}
	for ; q.n > 0 && (few > 0 || q.over(size, reserve)); few-- {
		if it := q.pop(); it.f != nil {
			if it.n != 0 {
				q.lose(it.n)
			}
			it.f.Release()
		}
	}
	q.sent = max(q.sent, q.base) // LOGIN_RESPONSE speaks of it, and then the player does
	q.trim()
}

// lose counts a message that is dropped together with all before it.
func (q *queue) lose(n uint64) {
	q.base, q.gap.top = n, n
	q.gap.numbered++
	q.count.Dropped.Add(counters.DropOutboxFull, 1)
}

// drop lets go of an item that is taken out of the queue. Taken says that the
// connection has it.
func (q *queue) drop(it *item, taken bool) {
	size := it.f.Len()
	q.bytes -= size
	if !taken {
		q.waiting -= size
	}
	q.old.less(it)
	it.f.Release()
}

// share is what one sender has in a queue, and what of it has to go.
type share struct {
	held, over volume
}

// take reports whether a message of so many bytes has to go, and counts it as gone.
func (s *share) take(size int) bool {
	if s.over.bytes <= 0 && s.over.messages <= 0 {
		return false
	}
	s.over.bytes, s.over.messages = s.over.bytes-size, s.over.messages-1
	return true
}

// sharesOf says for each sender what has to go so that no more is left than to. Senders
// that hold less than the others lose nothing.
func (q *queue) sharesOf(to volume) map[int32]*share {
	shares := make(map[int32]*share)
	for i := range q.n {
		it := q.at(i)
		if it.f == nil || it.n == 0 {
			continue
		}
		s := shares[it.f.Sender()]
		if s == nil {
			s = new(share)
			shares[it.f.Sender()] = s
		}
		s.held.bytes, s.held.messages = s.held.bytes+it.f.Len(), s.held.messages+1
	}
	var bytes, messages []int
	for _, s := range shares {
		bytes, messages = append(bytes, s.held.bytes), append(messages, s.held.messages)
	}
	fair := volume{fairShare(to.bytes, bytes), fairShare(to.messages, messages)}
	for _, s := range shares {
		s.over = volume{s.held.bytes - fair.bytes, s.held.messages - fair.messages}
	}
	return shares
}

// fairShare is the most that each may keep so that all together keep no more than
// total, where those who have less keep all of it.
func fairShare(total int, held []int) int {
	slices.Sort(held)
	total = max(total, 0)
	for i, n := range held {
		part := total / (len(held) - i)
		if n > part {
			return part
		}
		total -= n
	}
	return math.MaxInt
}

// takeGap returns how many messages were lost since it was last asked, to a player
// that has received all up to a number; 0 for one that does not say.
func (q *queue) takeGap(received uint64) (n uint64) {
	n = q.gap.fresh
	if q.gap.top > received {
		n += min(q.gap.numbered, q.gap.top-received)
	}
	q.gap = gap{unsent: q.gap.unsent}
	return n
}
