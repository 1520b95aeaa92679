package player

import "sync/atomic"

// Budget bounds an outbox (reliability.md 2.4, 5.1).
type Budget struct {
	BytesMax    int // default 1 MiB
	MessagesMax int // default 16384: in the longest default window, 30 s, two players may send 12,000
	// Gap: over the budget, messages are dropped and the player is told so (reconnect.overflow). Without it the player session ends.
	Gap bool
	// Pool bounds the outboxes of all players together; nil is no bound.
	Pool *Pool
}

// Pool bounds the bytes in the outboxes of all players of a host (reliability.md 2.4),
// without each one's first poolFree: most never touch it. Safe for concurrent use.
type Pool struct {
	max  int64
	used atomic.Int64
}

const (
	poolFree  = 16 << 10 // bytes of an outbox that the pool does not count
	poolGrain = 64 << 10 // bytes that an outbox takes from the pool at a time
	// itemBytes is the overhead of a message that the pool counts besides its bytes.
	itemBytes = 32
)

// NewPool returns a pool of max bytes.
func NewPool(max int64) *Pool { return &Pool{max: max} }

// Used returns the bytes that outboxes have taken.
func (p *Pool) Used() int64 { return p.used.Load() }

// Figures returns the bytes that outboxes have taken, and how many they may take.
func (p *Pool) Figures() (used, most int64) { return p.Used(), p.max }

func (p *Pool) take(n int64) bool {
	if p.used.Add(n) > p.max {
		p.used.Add(-n)
		return false
	}
	return true
}

// grant takes what size more bytes need from the pool, and returns false if it is used up.
func (q *queue) grant(size int) bool {
	if q.budget.Pool == nil {
		return true
	}
	for q.counted()+size > poolFree+q.granted {
		if !q.budget.Pool.take(poolGrain) {
			return false
		}
		q.granted += poolGrain
	}
	return true
}

// counted returns the bytes that the pool counts for the queue.
func (q *queue) counted() int { return q.bytes + q.n*itemBytes }

// giveBack returns bytes to the pool that the queue no longer needs.
func (q *queue) giveBack() {
	for q.granted > 0 && (q.n == 0 || q.counted()+2*poolGrain <= q.granted) {
		q.budget.Pool.used.Add(-poolGrain)
		q.granted -= poolGrain
	}
}
