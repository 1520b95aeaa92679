package fast

import (
	"net/netip"
	"sync"

	"troupe/messages/wire"
)

// datagram is one numbered frame in the queue for one recipient. It holds a reference to the frame. The writer encodes it.
type datagram struct {
	frame  *wire.Frame
	to     netip.AddrPort
	owner  *Association
	number int32
	// life is the value of Association.life when the datagram was queued. If that has changed, the writer drops the
	// datagram. It is 0 for an ack, which is always sent.
	life uint32
}

// queueStart is the initial capacity of a queue.
const queueStart = 64

// queue is a bounded ring buffer between the senders and a socket's writer. It grows but never shrinks. Only take blocks.
type queue struct {
	limit int

	mu     sync.Mutex
	filled sync.Cond // L is &mu; signalled while the writer waits
	ring   []datagram
	head   int
	count  int
	idle   bool // the writer is waiting
	closed bool
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit}
	q.filled.L = &q.mu
	return q
}

// push adds d and takes over its reference. If the queue is full or closed, it does neither and returns false.
func (q *queue) push(d datagram) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed || q.count >= q.limit {
		return false
	}
	if q.count == len(q.ring) {
		q.grow()
	}
	q.ring[(q.head+q.count)%len(q.ring)] = d
	q.count++
	if q.idle {
		q.idle = false
		q.filled.Signal()
	}
	return true
}

func (q *queue) grow() {
	bigger := make([]datagram, min(max(2*len(q.ring), queueStart), q.limit))
	n := copy(bigger, q.ring[q.head:])
	copy(bigger[n:], q.ring[:q.head])
	q.ring, q.head = bigger, 0
}

// take waits for datagrams and moves them, with their references, to the slice into. It returns
// more=false if the queue is closed and empty.
func (q *queue) take(into []datagram) (n int, more bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.count == 0 && !q.closed {
		q.idle = true
		q.filled.Wait()
	}
	for n < len(into) && q.count > 0 {
		into[n] = q.ring[q.head]
		q.ring[q.head] = datagram{}
		q.head = (q.head + 1) % len(q.ring)
		q.count--
		n++
	}
	return n, q.count > 0 || !q.closed
}

// close makes further pushes fail; take still returns the queued datagrams.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.idle = true, false
	q.filled.Signal()
}
