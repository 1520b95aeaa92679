package stage

import "sync"

// Batch collects the actors that got messages from one goroutine, which reads for many connections
// and runs each actor once, after it has read from all that had input (Ref.PostBatch). So an actor
// handles what has arrived for it together, and its output is flushed once.
//
// Whoever adds to a Batch must call RunNext afterwards until it reports false, or know somebody who
// does. The zero value is ready. All methods are safe for concurrent use.
type Batch struct {
	mu    sync.Mutex
	ready []*Mailbox // guarded by mu, as at
	at    int        // index in ready of the next one to run
}

// batchKeepMax is the capacity that the list of a Batch may keep.
const batchKeepMax = 4096

// add takes a mailbox that has become scheduled.
func (b *Batch) add(m *Mailbox) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ready = append(b.ready, m)
}

// next returns a mailbox that is to run, nil if there is none.
func (b *Batch) next() *Mailbox {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at == len(b.ready) {
		if cap(b.ready) > batchKeepMax {
			b.ready = nil
		}
		b.ready, b.at = b.ready[:0], 0
		return nil
	}
	m := b.ready[b.at]
	b.ready[b.at] = nil
	b.at++
	return m
}

// RunNext runs one of the collected actors in the calling goroutine, and reports false if there is
// none. An actor whose shard is busy, or whose calls may take long, runs in a worker of its shard.
func (b *Batch) RunNext() bool {
	m := b.next()
	switch {
	case m == nil:
		return false
	case m.limits.longRunning:
		m.shard.schedule(m)
	default:
		m.shard.runInline(m)
	}
	return true
}
