package fast

import (
	"net/netip"
	"sync"

	"troupe/messages/wire"
)

// datagram is one frame numbered for one recipient, on its way to the kernel. It
// holds one reference to the frame, which is encoded only when written: a queue
// holds no copies of bytes.
type datagram struct {
	frame  *wire.Frame
	to     netip.AddrPort
	owner  *Association
	number int32
	// life is the life of the binding it was queued in; the writer drops it when
	// that is over. 0 for an ack, which goes out in any case.
	life uint32
}

// queueStart is the room a queue begins with.
const queueStart = 64

// queue is a bounded ring between those who send and the one writer of a socket.
// It grows by doubling up to its limit and never shrinks, so in steady state it
// allocates nothing. No method blocks but take.
type queue struct {
	limit int

	mu     sync.Mutex
	filled sync.Cond // L is mu; signalled when the writer waits
	ring   []datagram
	head   int
	count  int
	idle   bool // the writer waits
	closed bool
}

func newQueue(limit int) *queue {
	q := &queue{limit: limit}
	q.filled.L = &q.mu
	return q
}

// push adds d, taking over its reference, or reports false and takes nothing.
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

// take moves queued datagrams into into, waiting for the first; the references
// go with them. More is false when the queue is closed and this was the last of
// it.
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

// close makes further pushes fail and lets take come to its end.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.idle = true, false
	q.filled.Signal()
}
