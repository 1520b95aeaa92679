package player

import (
	"math"
	"slices"
	"time"

	"troupe/messages/counters"
)

// Overflow of an outbox: messages over the budget go into a reserve, which is large enough for the duration of a
// reconnect. When the reserve is full too, messages are dropped, which leaves a gap. Dropping is fair: a sender within
// its share loses no message because another sender exceeds its own share.

const (
	// reserveTime is how long the reserve lasts at the rate that used up the budget. A slow consumer has reconnected by
	// then.
	reserveTime = 5 * time.Second
	// reserveMinPart sets the reserve's minimum: 1/reserveMinPart of the budget. The maximum is the whole budget.
	reserveMinPart = 4
	// 1/shedPart of the limit is dropped at a time, so that a full queue is not searched for each message.
	shedPart = 8
	// 1/shedFrontPart of the queued messages is dropped from the front if dropping by shares has not made enough room.
	// Messages that a connection has taken can be dropped only from the front.
	shedFrontPart = 64
)

type gap struct {
	// top is the highest number dropped from the front since the player was last told, and numbered is the number of
	// such messages. They are contiguous. The player may have received some of them; those are not lost.
	top, numbered uint64
	fresh         uint64 // the part of unsent since the player was last told
	// unsent is the total number of messages dropped from behind kept messages. No connection had taken them, and later
	// messages got their numbers.
	unsent uint64
	// told is the value of unsent in the newest LOGIN_RESPONSE. known is the value that the player has provably
	// received.
	told, known uint64
}

// tell records that a LOGIN_RESPONSE reports all dropped messages. proved says that the player has received the
// previous LOGIN_RESPONSE. It returns unsent, and how many of those messages the player may not know about. g may be
// nil.
func (g *gap) tell(proved bool) (unsent, untold uint64) {
	if g == nil {
		return 0, 0
	}
	if proved {
		g.known = g.told
	}
	g.told = g.unsent
	return g.unsent, g.unsent - g.known
}

func (q *queue) makeGap() *gap {
	if q.gap == nil {
		q.gap = new(gap)
	}
	return q.gap
}

// makeReserve sets the size of the reserve, once per attach.
func (q *queue) makeReserve() {
	if q.reserve == (volume{}) {
		q.reserve = reserveFor(*q.budget, q.pushed, q.slowAt.since())
	}
}

// reserveFor returns the reserve for a player to whom the volume came was sent within the time in.
func reserveFor(b Budget, came volume, in time.Duration) volume {
	in = max(in, time.Second) // a short burst says little about the rate
	amount := func(came, most int) int {
		return min(max(int(float64(came)*(float64(reserveTime)/float64(in))), most/reserveMinPart), most)
	}
	return volume{amount(came.bytes, b.BytesMax), amount(came.messages, b.MessagesMax)}
}

// shed drops messages until size more bytes fit, plus 1/shedPart of the limit. It drops the oldest messages of senders
// that exceed their share. A message that a connection has taken may have been received and keeps its number, so it is
// dropped only together with all messages before it.
func (q *queue) shed(size int, reserve bool) {
	if !q.exceeds(size, reserve) {
		return
	}
	most := q.limit(reserve)
	if !q.grant(size) {
		most.bytes = min(most.bytes, poolFree+q.granted-q.counted()+q.bytes)
	}
	to := volume{most.bytes - most.bytes/shedPart - size, most.messages - most.messages/shedPart - 1}
	if q.backlog != nil {
		q.backlog.upTo = 0 // the backlog keeps its size, because nothing is drained before the next attach
	}
	shares := q.sharesOf(to)
	n, next := q.n, q.next
	q.n, q.next = 0, 0
	front := true      // no message has been kept yet
	shift := uint64(0) // number of messages dropped from behind kept ones; later numbers decrease by it
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
				gap := q.makeGap()
				gap.unsent++
				gap.fresh++
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
	few := 0 // how many to drop from the front if dropping by shares has not made enough room
	if q.exceeds(size, reserve) {
		few = max(1, q.n/shedFrontPart)
	}
	for ; q.n > 0 && (few > 0 || q.exceeds(size, reserve)); few-- {
		if it := q.pop(); it.f != nil {
			if it.n != 0 {
				q.lose(it.n)
			}
			it.f.Release()
		}
	}
	q.sent = max(q.sent, q.base) // LOGIN_RESPONSE tells the player base, and the player acknowledges from there
	q.trim()
}

// lose counts a message that was dropped from the front.
func (q *queue) lose(n uint64) {
	gap := q.makeGap()
	q.base, gap.top = n, n
	gap.numbered++
	q.count.Dropped.Add(counters.DropOutboxFull, 1)
}

// drop releases an item that is removed from the queue. taken says that the connection had taken it.
func (q *queue) drop(it *item, taken bool) {
	size := it.f.Len()
	q.bytes -= size
	if !taken {
		q.waiting -= size
	}
	q.backlog.less(it)
	it.f.Release()
}

// share is the volume that one sender has in a queue, and the excess that must be dropped.
type share struct {
	held, excess volume
}

// take reports whether a message of size bytes must be dropped, and if so subtracts it from the excess.
func (s *share) take(size int) bool {
	if s.excess.bytes <= 0 && s.excess.messages <= 0 {
		return false
	}
	s.excess.bytes, s.excess.messages = s.excess.bytes-size, s.excess.messages-1
	return true
}

// sharesOf returns each sender's share if the queue must shrink to the volume to. A sender below an equal share loses
// nothing.
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
		s.excess = volume{s.held.bytes - fair.bytes, s.held.messages - fair.messages}
	}
	return shares
}

// fairShare returns the max-min fair share: the largest amount that each sender may keep such that all senders together
// keep no more than total.
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

// takeGap returns how many messages the player has lost since the last call. received is the highest number that the
// player reports as received, or 0.
func (q *queue) takeGap(received uint64) (n uint64) {
	g := q.gap
	if g == nil {
		return 0
	}
	n = g.fresh
	if g.top > received {
		n += min(g.numbered, g.top-received)
	}
	g.top, g.numbered, g.fresh = 0, 0, 0
	return n
}
