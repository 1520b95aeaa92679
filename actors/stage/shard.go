package stage

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// inlineMailboxes limits how many mailboxes a posting goroutine runs before it leaves the others to the
// shard's worker. A small burst needs no wake-up, and a connection's reader soon continues to read.
const inlineMailboxes = 16

// Shard runs its mailboxes one at a time. The goroutine that runs them is the owner of the shard. The owner
// is the shard's dedicated worker, or a goroutine that posts a message and finds the shard free
// (Ref.PostRun); the latter saves a wake-up per message.
type Shard struct {
	stage   *Stage
	policy  FlushPolicy
	started time.Time
	alarms  alarms
	turns   int // number of groups of all shards; each has a turn in every interval
	// due is the minimum of groups[i].due; 0 if there is no output to flush. It is written under mu.
	due atomic.Int64
	// strained means that output is collected for longer. The watch sets it.
	strained atomic.Bool

	mu   sync.Mutex
	wake sync.Cond // the dedicated worker waits here while it has nothing to run or flush
	// guarded by mu
	ready     ring[*mailbox]
	owner     *worker     // the worker that runs mailboxes now; nil if there is none
	dedicated *worker     // the worker with its own goroutine
	poster    *worker     // reused for the next posting goroutine; nil if there is none to reuse
	groups    []gathering // by mailbox.group
	spare     []Flusher   // an empty list, for a group whose own list is being flushed
	flushing  bool        // a worker is flushing
	began     int64       // when the flush in progress began; 0 if there is none
	work      workDone
	wakeTimer *time.Timer // wakes the dedicated worker when it should flush
	wakeFor   int64       // the value of due for which wakeTimer was last set
	runs      uint64      // how often the shard has got an owner
	closed    bool
	// detached is the number of workers that still run a batch after they lost the shard.
	detached int
	done     sync.WaitGroup // counts the dedicated worker and detached former dedicated workers
}

// worker is a potential owner of a shard. If an actor blocks the worker, another worker takes the shard over,
// and this one ends after the batch.
type worker struct {
	shard     *Shard
	batch     [runBatch]envelope // data messages taken from the mailbox that is running
	dedicated bool               // the worker has its own goroutine
	messages  uint64             // data messages handled in the current run of a mailbox
	// turn is odd while a mailbox runs. It is incremented at the start and the end of each run.
	turn atomic.Uint64
}

func newShard(stage *Stage, policy FlushPolicy, n, shards int) *Shard {
	now := time.Now()
	s := &Shard{stage: stage, policy: policy, started: now, alarms: alarms{started: now}, groups: make([]gathering, max(1, policy.Spread))}
	s.turns = shards * len(s.groups)
	for g := range s.groups {
		s.groups[g].turn = g*shards + n // the turns of the shards are spread, too
	}
	s.wake.L = &s.mu
	s.startWorkerLocked()
	return s
}

// startWorkerLocked starts a new dedicated worker, which replaces the previous one.
func (s *Shard) startWorkerLocked() {
	s.dedicated = &worker{shard: s, dedicated: true}
	s.done.Add(1)
	go s.dedicated.loop()
}

// schedule adds m to the ready queue and makes sure that a worker runs it.
func (s *Shard) schedule(m *mailbox) {
	s.mu.Lock()
	s.scheduleLocked(m)
	s.mu.Unlock()
}

func (s *Shard) scheduleLocked(m *mailbox) {
	s.ready.push(m)
	if s.owner == nil {
		s.wake.Signal()
	}
}

// runInline runs m on the calling goroutine if the shard is free. Otherwise it adds m to the ready queue.
func (s *Shard) runInline(m *mailbox) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != nil || s.ready.len() > 0 && !s.flushing || s.closed {
		s.scheduleLocked(m)
		return
	}
	w := s.poster
	if w == nil {
		w = &worker{shard: s}
	}
	s.owner, s.poster = w, nil
	s.runs++
	s.stage.watch.wakeUp()
	s.ready.pushFront(m) // first, because mailboxes that wait for the end of a flush may be long-running
	if w.serveLocked(inlineMailboxes, false) {
		s.poster = w
	}
}

// serveLocked runs at most limit ready mailboxes and flushes according to the policy. With an interval, the
// dedicated worker returns when a flush is due. If waited is true, the ready mailboxes had to wait for a
// flush; then each gets a turn before the next flush, within HoldMax in total. serveLocked releases mu while
// it runs a mailbox. The worker must own the shard, and no longer owns it afterwards. The result is false if
// another worker has taken it over.
func (w *worker) serveLocked(limit int, waited bool) bool {
	s := w.shard
	turns, until := 1, int64(0)
	if waited {
		turns, until = s.ready.len(), s.now()+int64(HoldMax)
	}
	for n := 0; n < limit; n++ {
		m, ok := s.ready.pop()
		if !ok {
			break
		}
		if n > 0 && !w.dedicated && m.limits.longRunning {
			s.ready.pushFront(m)
			break
		}
		s.mu.Unlock()
		w.turn.Add(1)
		again := m.run(w)
		w.turn.Add(1)
		s.mu.Lock()
		s.work.messages += w.messages
		w.messages = 0
		if again {
			s.scheduleLocked(m)
		}
		switch {
		case !s.dueLocked():
		case s.interval() <= 0:
			s.flushLocked(w)
		case w.dedicated && s.owner == w && !s.flushing:
			if n+1 >= turns || s.now() >= until {
				limit = 0
			}
		default:
			s.wake.Signal() // the dedicated worker flushes while this worker runs mailboxes
		}
		if s.owner != w {
			s.detached--
			s.wake.Broadcast() // the dedicated worker may be waiting for detached workers to finish
			return false
		}
	}
	s.owner = nil
	switch wait := s.untilFlushLocked(); {
	case s.ready.len() > 0, s.closed, wait == 0:
		s.wake.Signal()
	case wait > 0 && s.wakeFor != s.due.Load():
		s.wakeAfterLocked(wait)
	}
	return true
}

// loop is the goroutine of the dedicated worker. It runs mailboxes and flushes until the shard closes or
// another worker replaces it.
func (w *worker) loop() {
	s := w.shard
	defer s.done.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	flushed := false // no mailbox has had a turn since the last flush
	for s.dedicated == w {
		wait := s.untilFlushLocked()
		switch {
		case wait == 0 && s.interval() > 0 && !(flushed && s.owner == nil && s.ready.len() > 0):
			s.flushLocked(w)
			flushed = true
		case s.owner != nil:
			flushed = false
			s.wake.Wait()
		case s.ready.len() > 0:
			s.owner = w
			s.runs++
			s.stage.watch.wakeUp()
			w.serveLocked(math.MaxInt, flushed)
			flushed = false
		case wait == 0 || wait > 0 && s.closed:
			s.flushLocked(w)
		case s.closed && s.detached == 0:
			return
		default:
			if wait > 0 {
				s.wakeAfterLocked(wait)
			}
			flushed = false
			s.wake.Wait()
		}
	}
	s.wake.Signal() // pass on a signal that may have been meant for the new worker
}

// progressSample identifies the owner of a shard and its turn at one check of the watch.
type progressSample struct {
	owner *worker
	turn  uint64
}

// takeOver takes the shard from its owner if the owner has been in the same run of a mailbox since the last
// sample, and mailboxes or output are waiting. The owner finishes the run as a detached worker. takeOver
// returns a new sample, the number of waiting mailboxes, and whether it took the shard.
func (s *Shard) takeOver(last progressSample) (now progressSample, waiting int, took bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.owner
	if w == nil || s.ready.len() == 0 && !s.dirtyLocked() {
		return progressSample{}, 0, false
	}
	now = progressSample{w, w.turn.Load()}
	if now != last || now.turn%2 == 0 {
		return now, 0, false
	}
	s.detachLocked()
	return now, s.ready.len(), true
}

// handOver takes the shard from w. The actor that w runs calls it.
func (s *Shard) handOver(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == w {
		s.detachLocked()
	}
}

// detachLocked makes the owner a detached worker, and starts a new dedicated worker if necessary.
func (s *Shard) detachLocked() {
	s.detached++
	if s.dedicated == s.owner {
		s.startWorkerLocked()
	} else {
		s.wake.Signal()
	}
	s.owner = nil
}

// discard abandons a worker whose current batch will never return.
func (s *Shard) discard(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == w {
		s.owner = nil
		if s.dedicated == w {
			s.startWorkerLocked()
		}
	} else {
		s.detached--
	}
	if w.dedicated {
		s.done.Done()
	}
	s.wake.Broadcast()
}

// activity reports whether the shard has an owner or is flushing, and how often it has got an owner.
func (s *Shard) activity() (owned bool, runs uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner != nil || s.flushing, s.runs
}

// workDone returns what the shard has done since its start, including the flush in progress.
func (s *Shard) workDone() workDone {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.work
	if s.began != 0 {
		w.flushing += time.Duration(s.now() - s.began)
	}
	return w
}

func (s *Shard) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready.len()
}

// close ends the dedicated worker once the mailboxes are empty and no detached worker is left, and waits for
// its end.
func (s *Shard) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake.Broadcast()
	s.done.Wait()
}
