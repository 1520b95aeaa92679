package player

import (
	"math"
	"slices"
	"time"

	"troupe/messages/counters"
)

// Overflow of an outbox: over the budget, messages go into a reserve, which lasts as long as a reconnect takes. When it is full,
// too, messages are dropped, which leaves a gap. That is fair: a sender within its share loses none because another exceeds its own.

const (
	// reserveTime is how long the reserve lasts at the rate that used up the budget: a slow consumer has reconnected by then.
	reserveTime = 5 * time.Second
	// reserveMinPart bounds the reserve from below: a quarter of the budget, its upper bound.
	reserveMinPart = 4
	// shedPart is the part of the limit that is dropped at a time: a full queue is not searched for every message.
	shedPart = 8
	// shedFrontPart is the part of the queued messages, 1 in 64, dropped from the front
	// if shares have not made room: what a connection has taken can only go from there.
	shedFrontPart = 64
)

type gap struct {
	// Messages dropped from the front since the player was last told: the highest number,
	// and how many, contiguous. Some may have been received, and are then not lost.
	top, numbered uint64
	fresh         uint64 // of unsent, since the player was last told
	// unsent counts messages ever dropped behind kept ones: no connection had them, later ones got their numbers.
	unsent uint64
	// told is unsent in the newest LOGIN_RESPONSE; known, as the player is known to have it.
	told, known uint64
}

// tell notes that a LOGIN_RESPONSE tells of all dropped messages. Proved says that the player has received the one before.
// It returns unsent, and how many of them the player may not know of. g may be nil.
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

// makeReserve decides, once per attach, how large the reserve is.
func (q *queue) makeReserve() {
	if q.reserve == (volume{}) {
		q.reserve = reserveFor(*q.budget, q.pushed, q.slowAt.since())
	}
}

// reserveFor returns the reserve for a player to whom the volume came was sent in a time.
func reserveFor(b Budget, came volume, in time.Duration) volume {
	in = max(in, time.Second) // a burst says little about the rate
	amount := func(came, most int) int {
		return min(max(int(float64(came)*(float64(reserveTime)/float64(in))), most/reserveMinPart), most)
	}
	return volume{amount(came.bytes, b.BytesMax), amount(came.messages, b.MessagesMax)}
}

// shed drops messages until size more bytes fit, and some more: the oldest of senders above their share. One
// that a connection has taken keeps its number, as it may have been received: it goes only with all before it.
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
		q.backlog.upTo = 0 // it keeps its room: nothing is drained before the next attach
	}
	shares := q.sharesOf(to)
	n, next := q.n, q.next
	q.n, q.next = 0, 0
	front := true      // no message is kept yet
	shift := uint64(0) // messages dropped behind kept ones; later numbers move down by it
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
	few := 0 // how many to drop from the front: shares have not made room
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
	q.sent = max(q.sent, q.base) // LOGIN_RESPONSE tells the player of base, and the player acknowledges from there
	q.trim()
}

// lose counts a message that is dropped from the front.
func (q *queue) lose(n uint64) {
	gap := q.makeGap()
	q.base, gap.top = n, n
	gap.numbered++
	q.count.Dropped.Add(counters.DropOutboxFull, 1)
}

// drop releases an item that leaves the queue. Taken: by the connection, before.
func (q *queue) drop(it *item, taken bool) {
	size := it.f.Len()
	q.bytes -= size
	if !taken {
		q.waiting -= size
	}
	q.backlog.less(it)
	it.f.Release()
}

// share is the volume of one sender in a queue, and the excess that has to be dropped.
type share struct {
	held, excess volume
}

// take reports whether a message of size bytes has to be dropped, and counts it.
func (s *share) take(size int) bool {
	if s.excess.bytes <= 0 && s.excess.messages <= 0 {
		return false
	}
	s.excess.bytes, s.excess.messages = s.excess.bytes-size, s.excess.messages-1
	return true
}

// sharesOf returns each sender's share when the queue has to shrink to the volume to. Below an equal share none loses anything.
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

// fairShare returns the max-min fair share: the most that each sender may keep so that all keep no more than total.
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

// takeGap returns how many messages were lost since the last call for a player that received all up to a number, if it reports one.
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
