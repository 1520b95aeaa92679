package player

import "sync/atomic"

// Budget bounds what may be held for one player (reliability.md 2.4, 5.1, D-131).
type Budget struct {
	BytesMax    int // default 1 MiB
	MessagesMax int // default 16384: in the longest default window, 30 s, two players may send 12,000
	// Gap has a player lose messages when the budget is used up, and told so, where
	// otherwise its player session ends (reconnect.overflow).
	Gap bool
	// Pool bounds all players together; nil is no bound.
	Pool *Pool
}

// Pool bounds the bytes held for all players of a host (reliability.md 2.4). The
// first poolFree bytes of each player are not counted, so that most players never
// touch it. Safe for concurrent use.
type Pool struct {
	max  int64
	used atomic.Int64
}

const (
	poolFree  = 16 << 10 // bytes a player may hold without asking
	poolGrain = 64 << 10 // bytes a player asks for at a time
	// itemBytes is what the pool counts for a message besides its bytes.
	itemBytes = 32
)

// NewPool returns a pool of so many bytes.
func NewPool(max int64) *Pool { return &Pool{max: max} }

// Used returns the bytes that players have asked for.
func (p *Pool) Used() int64 {
	if p == nil {
		return 0
	}
	return p.used.Load()
}

func (p *Pool) take(n int64) bool {
	if p.used.Add(n) > p.max {
		p.used.Add(-n)
		return false
	}
	return true
}

// grant sees to it that size more bytes are counted, under the lock.
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

// counted is what the pool counts of what is held.
func (q *queue) counted() int { return q.bytes + q.n*itemBytes }

// giveBack returns what is no longer needed, under the lock.
func (q *queue) giveBack() {
	for q.granted > 0 && (q.n == 0 || q.counted()+2*poolGrain <= q.granted) {
		q.budget.Pool.used.Add(-poolGrain)
		q.granted -= poolGrain
	}
}
