package player

import "sync/atomic"

// Budget limits the size of an outbox (reliability.md 2.4, 5.1).
type Budget struct {
	BytesMax    int // default 1 MiB
	MessagesMax int // default 16384: two players may send up to 12,000 in the longest default window (30 s)
	// Gap selects the policy for a full outbox (reconnect.overflow). If true, messages are dropped and the player is
	// told about the gap. If false, the player session ends.
	Gap bool
	// Pool limits the total size of all players' outboxes. Nil means no limit.
	Pool *Pool
}

// Pool limits the total bytes in the outboxes of all players of a host (reliability.md 2.4). The first poolFree bytes
// of each outbox do not count, so most outboxes never use the pool. Pool is safe for concurrent use.
type Pool struct {
	max  int64
	used atomic.Int64
}

const (
	poolFree  = 16 << 10 // bytes of each outbox that do not count
	poolGrain = 64 << 10 // bytes that an outbox takes from the pool at a time
	// itemBytes is the fixed overhead that the pool counts per message, in bytes.
	itemBytes = 32
)

// NewPool returns a pool of up to max bytes.
func NewPool(max int64) *Pool { return &Pool{max: max} }

// Used returns the number of bytes that outboxes have taken from the pool.
func (p *Pool) Used() int64 { return p.used.Load() }

// Figures returns the number of bytes that outboxes have taken, and the pool's limit.
func (p *Pool) Figures() (used, most int64) { return p.Used(), p.max }

func (p *Pool) take(n int64) bool {
	if p.used.Add(n) > p.max {
		p.used.Add(-n)
		return false
	}
	return true
}

// grant takes bytes from the pool until the queue may grow by size bytes. It returns false if the pool is exhausted.
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

// counted returns how many bytes the pool counts for the queue.
func (q *queue) counted() int { return q.bytes + q.n*itemBytes }

// giveBack returns bytes that the queue no longer needs to the pool.
func (q *queue) giveBack() {
	for q.granted > 0 && (q.n == 0 || q.counted()+2*poolGrain <= q.granted) {
		q.budget.Pool.used.Add(-poolGrain)
		q.granted -= poolGrain
	}
}
