package stage

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// inlineMailboxes bounds how many mailboxes a posting goroutine runs before the shard's
// worker: a burst needs no wake-up, and a connection's reader goes on reading.
const inlineMailboxes = 16

// Shard runs its mailboxes one at a time. The goroutine that runs them owns it: its worker,
// or a poster that found it free (Ref.PostRun), which saves a wake-up per message.
type Shard struct {
	stage   *Stage
	policy  FlushPolicy
	started time.Time
	alarms  alarms
	turns   int // of all groups of all shards in an interval
	// due is the least due of groups; 0 means that nothing is dirty. Written under mu.
	due atomic.Int64
	// strained says that output is collected for longer. The watch sets it.
	strained atomic.Bool

	mu   sync.Mutex
	wake sync.Cond // dedicated waits here while it has nothing to run or flush
	// guarded by mu
	ready     ring[*mailbox]
	owner     *worker     // who runs mailboxes now; nil: nobody
	dedicated *worker     // the one with a goroutine to itself
	poster    *worker     // kept for the next poster; nil: make one
	groups    []gathering // by mailbox.group
	spare     []Flusher   // an empty list for a group whose own one is flushed
	flushing  bool        // a worker is at it
	began     int64       // when the flush of a group began that goes on; 0: none does
	work      workDone
	wakeTimer *time.Timer // wakes the dedicated worker when it should flush
	wakeFor   int64       // the due for which wakeTimer was last set
	runs      uint64      // times that somebody became the owner
	closed    bool
	// detached is the number of workers that still run a batch after they lost the shard
	detached int
	done     sync.WaitGroup // counts the dedicated worker and detached former ones
}

// worker is an owner of a shard. If an actor blocks it, another takes the shard, and it ends after the batch.
type worker struct {
	shard     *Shard
	batch     [runBatch]envelope // scratch of the mailbox that runs
	dedicated bool               // it has a goroutine to itself
	messages  uint64             // handled in the run of a mailbox
	// turn is odd while a mailbox runs; it changes with every run.
	turn atomic.Uint64
}

func newShard(stage *Stage, policy FlushPolicy, n, shards int) *Shard {
	now := time.Now()
	s := &Shard{stage: stage, policy: policy, started: now, alarms: alarms{started: now}, groups: make([]gathering, max(1, policy.Spread))}
	s.turns = shards * len(s.groups)
	for g := range s.groups {
		s.groups[g].turn = g*shards + n // shards take turns, too
	}
	s.wake.L = &s.mu
	s.startWorkerLocked()
	return s
}

// startWorkerLocked starts the dedicated worker, in place of the previous one.
func (s *Shard) startWorkerLocked() {
	s.dedicated = &worker{shard: s, dedicated: true}
	s.done.Add(1)
	go s.dedicated.loop()
}

// schedule queues m and makes sure that it is run.
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

// runInline runs m in the calling goroutine if the shard is free; otherwise it queues m.
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
	s.ready.pushFront(m) // if others wait for the end of a flush, the first of them may be a long-running one
	if w.serveLocked(inlineMailboxes, false) {
		s.poster = w
	}
}

// serveLocked runs at most limit ready mailboxes and flushes by the policy; the dedicated worker stops for a
// flush. Mailboxes that had to wait for one get a turn each before the next, HoldMax together. It releases mu
// meanwhile. The worker must own the shard, and does not afterwards; false: another one has taken it.
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
			s.wake.Signal() // the dedicated worker flushes, while others run mailboxes
		}
		if s.owner != w {
			s.detached--
			s.wake.Broadcast() // the dedicated worker may wait for this
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

// loop is the dedicated worker's goroutine: mailboxes and flushes, until the shard closes or another worker takes it.
func (w *worker) loop() {
	s := w.shard
	defer s.done.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	flushed := false // mailboxes have had no turn since
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
	s.wake.Signal() // a signal meant for the new worker may have come here
}

// progressSample is the owner of a shard and its turn at one check of the watch.
type progressSample struct {
	owner *worker
	turn  uint64
}

// takeOver takes the shard from an owner in the same batch as in the last sample while mailboxes wait;
// the batch goes on in a detached worker. It returns a new sample, and how many wait if it took it.
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

// handOver takes the shard from w, from inside of the batch that w runs.
func (s *Shard) handOver(w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == w {
		s.detachLocked()
	}
}

// detachLocked turns the owner into a detached worker and starts a new owner if necessary.
func (s *Shard) detachLocked() {
	s.detached++
	if s.dedicated == s.owner {
		s.startWorkerLocked()
	} else {
		s.wake.Signal()
	}
	s.owner = nil
}

// discard abandons a worker that will never return from its batch.
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

// activity reports whether the shard has an owner or flushes, and how often it has got one.
func (s *Shard) activity() (owned bool, runs uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner != nil || s.flushing, s.runs
}

// workDone returns what the shard has done so far.
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

// close ends the worker once its mailboxes are empty and no detached worker is left.
func (s *Shard) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.wake.Broadcast()
	s.done.Wait()
}
