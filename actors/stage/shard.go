package stage

import (
	"sync"
	"sync/atomic"
	"time"
)

// Flusher is something that gathers output during a batch and sends it at the
// end. Flush must not block.
type Flusher interface{ Flush() }

// FlushPolicy says when a shard flushes what its actors made dirty.
type FlushPolicy struct {
	// Interval 0 flushes after every batch of one mailbox. A positive interval
	// gathers for that long, also when idle: 15 ms suits crowds. Negative (the
	// default is Adaptive) flushes at once while the shard keeps up, and at the
	// latest after HoldMax while mailboxes are waiting.
	Interval time.Duration
}

// Adaptive is the FlushPolicy interval that gathers only under load.
const Adaptive time.Duration = -1

// HoldMax is how long an adaptive shard may gather while mailboxes wait: a
// third of a 60 Hz frame.
const HoldMax = 5 * time.Millisecond

// Shard runs mailboxes, one at a time, on a worker of its own.
type Shard struct {
	policy FlushPolicy

	mu   sync.Mutex
	wake sync.Cond
	// guarded by mu
	ready   ring[*Mailbox]
	current *worker
	closed  bool
	done    sync.WaitGroup
}

// worker is one goroutine that serves a shard. It is replaced when an actor
// holds it up (Stage.watch).
type worker struct {
	shard *Shard
	batch [runBatch]any // scratch of the mailbox that runs
	// turn is odd while a mailbox runs; it changes with every run.
	turn     atomic.Uint64
	replaced atomic.Bool

	mu sync.Mutex
	// guarded by mu
	dirty []Flusher
	since time.Time // when the first of dirty was added
	spare []Flusher
}

func newShard(policy FlushPolicy) *Shard {
	s := &Shard{policy: policy}
	s.wake.L = &s.mu
	s.replaceWorker()
	return s
}

func (s *Shard) schedule(m *Mailbox) {
	s.mu.Lock()
	s.ready.push(m)
	s.mu.Unlock()
	s.wake.Signal()
}

// replaceWorker starts a worker and makes it the shard's own. What the old one
// held dirty goes to the new one.
func (s *Shard) replaceWorker() {
	s.mu.Lock()
	old := s.current
	w := &worker{shard: s}
	s.current = w
	s.done.Add(1)
	s.mu.Unlock()
	if old != nil {
		old.replaced.Store(true)
		old.mu.Lock()
		w.dirty, w.since = old.dirty, old.since
		old.dirty = nil
		old.mu.Unlock()
		s.wake.Broadcast() // the old one may have finished and wait
	}
	go w.loop()
}

// loop runs ready mailboxes until the shard closes or the worker is replaced.
func (w *worker) loop() {
	defer w.shard.done.Done()
	for {
		m := w.next()
		if m == nil {
			w.flush()
			return
		}
		w.turn.Add(1)
		again := m.run(w)
		w.turn.Add(1)
		if again {
			w.shard.schedule(m)
		}
		if w.replaced.Load() {
			w.flush()
			return
		}
		w.flushIfDue()
	}
}

// next waits for a ready mailbox; nil means that the worker should end. Before
// it waits it flushes, as the policy says.
func (w *worker) next() *Mailbox {
	s := w.shard
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if w.replaced.Load() {
			s.wake.Signal() // a signal meant for the new worker may have come here
			return nil
		}
		if m, ok := s.ready.pop(); ok {
			return m
		}
		if s.closed {
			return nil
		}
		if wait, dirty := w.untilFlush(); dirty {
			s.mu.Unlock()
			if wait <= 0 {
				w.flush()
			} else {
				// The function takes the lock, so it cannot signal before the wait.
				t := time.AfterFunc(wait, s.nudge)
				s.mu.Lock()
				if s.ready.n == 0 && !s.closed {
					s.wake.Wait()
				}
				t.Stop()
				continue
			}
			s.mu.Lock()
			continue
		}
		s.wake.Wait()
	}
}

func (s *Shard) nudge() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake.Broadcast()
}

// untilFlush says whether anything is dirty and how long an idle worker should
// still gather.
func (w *worker) untilFlush() (wait time.Duration, dirty bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.dirty) == 0 {
		return 0, false
	}
	if i := w.shard.policy.Interval; i > 0 {
		return i - time.Since(w.since), true
	}
	return 0, true
}

// flushIfDue flushes after a run if the policy does not want to gather longer.
func (w *worker) flushIfDue() {
	w.mu.Lock()
	n, since := len(w.dirty), w.since
	w.mu.Unlock()
	if n == 0 {
		return
	}
	switch i := w.shard.policy.Interval; {
	case i == 0:
	case i > 0:
		if time.Since(since) < i {
			return
		}
	default:
		s := w.shard
		s.mu.Lock()
		waiting := s.ready.n
		s.mu.Unlock()
		if waiting > 0 && time.Since(since) < HoldMax {
			return
		}
	}
	w.flush()
}

func (w *worker) flush() {
	w.mu.Lock()
	dirty := w.dirty
	w.dirty, w.spare = w.spare[:0], nil
	w.mu.Unlock()
	for i, f := range dirty {
		f.Flush()
		dirty[i] = nil
	}
	w.mu.Lock()
	if cap(dirty) <= 4096 {
		w.spare = dirty[:0]
	}
	w.mu.Unlock()
}

func (w *worker) markDirty(f Flusher) {
	w.mu.Lock()
	if len(w.dirty) == 0 {
		w.since = time.Now()
	}
	w.dirty = append(w.dirty, f)
	w.mu.Unlock()
}

// close ends the worker once its mailboxes are empty.
func (s *Shard) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake.Broadcast()
	s.done.Wait()
}
