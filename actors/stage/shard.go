package stage

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Flusher collects output during a batch and sends it at the end. Flush must not block. Two
// calls never overlap, but an actor that blocks its worker may add output during a call.
type Flusher interface{ Flush() }

// FlushPolicy says when a shard flushes dirty Flushers.
type FlushPolicy struct {
	// Interval 0 flushes after every batch of one mailbox. A positive interval
	// collects output, also when idle, and flushes it at fixed times that are so far
	// apart: 15 ms suits large groups of players. While the machine is full of writing,
	// every second time is left out. Negative (Adaptive) flushes at once while the shard
	// keeps up, and at the latest after HoldMax while mailboxes are waiting; while the
	// machine is full of writing it is like an interval of 15 ms.
	Interval time.Duration
	// Spread is into how many groups the actors of a shard are dealt out while output is collected
	// for some time; 0 means one. Their times to flush are spread over the interval, so a shard with
	// many actors writes a little all the time, instead of all at once when the interval is over.
	Spread int
}

// Adaptive is the FlushPolicy interval that collects output only under load.
const Adaptive time.Duration = -1

// HoldMax is how long an adaptive shard may collect output while mailboxes wait: a third of a
// 60 Hz frame.
const HoldMax = 5 * time.Millisecond

// flushKeepMax is the capacity a list of flushers may keep.
const flushKeepMax = 4096

// inlineMailboxes bounds how many mailboxes a posting goroutine runs before the shard's worker
// takes over: enough to avoid a wake-up for a burst, few enough for a connection's reader to
// continue reading.
const inlineMailboxes = 16

// Shard runs the mailboxes pinned to it, one at a time. The goroutine that runs them owns the
// shard: its worker, or a posting goroutine that found the shard free (Ref.PostRun), which
// saves a wake-up per message.
type Shard struct {
	stage   *Stage
	policy  FlushPolicy
	started time.Time
	alarms  alarms
	// due is the least due of groups, apart from 0; 0 means that nothing is dirty.
	// Written under mu.
	due atomic.Int64

	mu   sync.Mutex
	wake sync.Cond // dedicated waits here while it has nothing to run or flush
	// guarded by mu
	ready     ring[*Mailbox]
	owner     *worker     // who runs mailboxes now; nil: nobody
	dedicated *worker     // the one with a goroutine to itself
	poster    *worker     // kept for the next poster; nil: make one
	groups    []gathering // by Mailbox.group
	spare     []Flusher   // an empty list for a group whose own one is flushed
	flushing  bool        // a worker is at it, until nothing is due
	work      workDone
	wakeTimer *time.Timer // wakes the dedicated worker when it should flush
	wakeFor   int64       // the due for which wakeTimer was last set
	runs      uint64      // times that somebody became the owner
	closed    bool
	// detached is the number of workers that still run a batch after they lost the shard
	detached int
	done     sync.WaitGroup // counts the dedicated worker and detached former ones
}

// gathering is the output that the actors of one group have collected. Times are those of Shard.now.
type gathering struct {
	dirty   []Flusher
	phase   int64 // the group is flushed at this time and at whole intervals after it
	due     int64 // when dirty is to be flushed at the latest; 0: there is none
	flushed int64 // when the last flush began
}

// worker is one owner of a shard. If an actor blocks it, another worker takes the shard, and
// this one ends after the batch.
type worker struct {
	shard     *Shard
	batch     [runBatch]envelope // scratch of the mailbox that runs
	dedicated bool               // it has a goroutine to itself
	messages  uint64             // handled in the run of a mailbox
	// turn is odd while a mailbox runs; it changes with every run.
	turn atomic.Uint64
}

// newShard makes the n-th of several shards.
func newShard(stage *Stage, policy FlushPolicy, n, shards int) *Shard {
	now, interval := time.Now(), policy.Interval
	if interval < 0 {
		interval = strainedInterval
	}
	s := &Shard{stage: stage, policy: policy, started: now, alarms: alarms{started: now}, groups: make([]gathering, max(1, policy.Spread))}
	for g := range s.groups {
		turn := g*shards + n // shards take turns, too
		s.groups[g].phase = 1 + int64(interval)*int64(turn)/int64(shards*len(s.groups))
	}
	s.wake.L = &s.mu
	s.startWorkerLocked()
	return s
}

// startWorkerLocked starts a worker and makes it the dedicated one, in place of the previous
// one.
func (s *Shard) startWorkerLocked() {
	s.dedicated = &worker{shard: s, dedicated: true}
	s.done.Add(1)
	go s.dedicated.loop()
}

// schedule queues m and makes sure that it is run.
func (s *Shard) schedule(m *Mailbox) {
	s.mu.Lock()
	s.scheduleLocked(m)
	s.mu.Unlock()
}

func (s *Shard) scheduleLocked(m *Mailbox) {
	s.ready.push(m)
	if s.owner == nil {
		s.wake.Signal()
	}
}

// runInline runs m in the calling goroutine if the shard is free; otherwise it queues m.
func (s *Shard) runInline(m *Mailbox) {
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
	s.ready.push(m)
	if w.serveLocked(inlineMailboxes) {
		s.poster = w
	}
}

// serveLocked runs at most limit ready mailboxes, and flushes according to the policy. It
// releases mu meanwhile. The worker must own the shard, and does not own it afterwards; false
// means that another worker has taken the shard.
func (w *worker) serveLocked(limit int) bool {
	s := w.shard
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
			s.flushLocked()
		case w.dedicated && s.owner == w && !s.flushing:
			limit = 0
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

// loop is the goroutine of the dedicated worker: it runs the ready mailboxes and flushes
// collected output, until the shard closes or another worker takes it.
func (w *worker) loop() {
	s := w.shard
	defer s.done.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.dedicated == w {
		wait := s.untilFlushLocked()
		switch {
		case wait == 0 && s.interval() > 0:
			s.flushLocked()
		case s.owner != nil:
			s.wake.Wait()
		case s.ready.len() > 0:
			s.owner = w
			s.runs++
			s.stage.watch.wakeUp()
			w.serveLocked(math.MaxInt)
		case wait == 0 || wait > 0 && s.closed:
			s.flushLocked()
		case s.closed && s.detached == 0:
			return
		default:
			if wait > 0 {
				s.wakeAfterLocked(wait)
			}
			s.wake.Wait()
		}
	}
	s.wake.Signal() // a signal meant for the new worker may have come here
}

// never means that there is nothing to flush.
const never time.Duration = -1

// untilFlushLocked returns how long an idle worker should still collect output.
func (s *Shard) untilFlushLocked() time.Duration {
	switch {
	case !s.dirtyLocked() || s.flushing:
		return never
	case s.interval() <= 0:
		return 0
	}
	return max(0, time.Duration(s.due.Load()-s.now()))
}

// wakeAfterLocked wakes the dedicated worker after d. The timer takes the lock, which the caller
// holds, so it cannot fire before that worker waits.
func (s *Shard) wakeAfterLocked(d time.Duration) {
	s.wakeFor = s.due.Load()
	if s.wakeTimer != nil {
		s.wakeTimer.Reset(d)
		return
	}
	s.wakeTimer = time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wake.Broadcast()
	})
}

// interval is that of the policy, or the one of an adaptive shard under strain.
func (s *Shard) interval() time.Duration {
	if s.policy.Interval < 0 && s.stage.strain.is.Load() {
		return strainedInterval
	}
	return s.policy.Interval
}

// dirtyLocked reports whether anything is to be flushed, now or later.
func (s *Shard) dirtyLocked() bool { return s.due.Load() != 0 }

// now is the time since a nanosecond before started, so it is never 0.
func (s *Shard) now() int64 { return int64(time.Since(s.started)) + 1 }

// overdue reports whether there is output that may not wait any longer, so a mailbox with more
// messages should pause for the flush.
func (s *Shard) overdue() bool {
	due := s.due.Load()
	return due != 0 && s.now() >= due
}

// dueLocked reports whether the policy requires a flush after a run.
func (s *Shard) dueLocked() bool {
	switch i := s.interval(); {
	case !s.dirtyLocked():
		return false
	case i > 0:
		return s.overdue()
	default:
		return i == 0 || s.ready.len() == 0 || s.overdue()
	}
}

// dueAt returns when output that a group begins to collect now is to be flushed. With an interval
// it is the group's next turn, so groups that were late together are apart again in the next
// interval. A turn is left out if less than half an interval lies between it and the last flush, one
// and a half under strain: otherwise a shard that takes long to flush would collect little when
// collecting saves most.
func (s *Shard) dueAt(g *gathering) int64 {
	now, interval := s.now(), int64(s.interval())
	if interval <= 0 {
		return now + int64(HoldMax)
	}
	after := now
	if g.flushed != 0 {
		least := interval / 2
		if s.stage.strain.is.Load() {
			least += interval
		}
		after = max(now, g.flushed+least)
	}
	if after < g.phase {
		return g.phase
	}
	return after + interval - (after-g.phase)%interval
}

// flushLocked flushes the groups that are due, in the order of their turns, until none is. It
// releases mu meanwhile. If another worker is flushing, that worker flushes everything. What an
// actor adds meanwhile waits for the next turn of its group.
func (s *Shard) flushLocked() {
	if s.flushing {
		return
	}
	s.flushing = true
	for g := s.dueGroupLocked(); g != nil; g = s.dueGroupLocked() {
		dirty := g.dirty
		now := s.now()
		if interval := s.policy.Interval; interval > 0 {
			s.work.late += min(max(0, time.Duration(now-g.due)), interval/2) // a single delay is no strain
			s.work.turns++
		}
		g.dirty, s.spare, g.due, g.flushed = s.spare, nil, 0, now
		s.noteDueLocked()
		s.mu.Unlock()
		for i, f := range dirty {
			s.flush(f)
			dirty[i] = nil
		}
		took := s.now() - now
		s.mu.Lock()
		s.work.flushing += time.Duration(took)
		if cap(dirty) <= flushKeepMax {
			s.spare = dirty[:0]
		}
	}
	s.flushing = false
}

// dueGroupLocked returns the group whose turn was first if it is to be flushed now, else nil. Who
// asks has found that a flush is due, so without an interval all groups are.
func (s *Shard) dueGroupLocked() *gathering {
	first := s.due.Load()
	if first == 0 || !s.closed && s.interval() > 0 && s.now() < first {
		return nil
	}
	for i := range s.groups {
		if g := &s.groups[i]; g.due == first {
			return g
		}
	}
	return nil
}

// noteDueLocked sets due.
func (s *Shard) noteDueLocked() {
	first := int64(0)
	for i := range s.groups {
		if due := s.groups[i].due; due != 0 && (first == 0 || due < first) {
			first = due
		}
	}
	s.due.Store(first)
}

// flush contains a panic of one flusher.
func (s *Shard) flush(f Flusher) {
	defer s.stage.contain("flush", f)
	f.Flush()
}

// markDirty schedules a flush of f, of an actor of the group, according to the policy.
func (s *Shard) markDirty(f Flusher, group uint8) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.interval() <= 0 {
		group = 0
	}
	g := &s.groups[group]
	if g.due == 0 {
		g.due = s.dueAt(g)
		if first := s.due.Load(); first == 0 || g.due < first {
			s.due.Store(g.due)
			if s.owner == nil {
				s.wake.Signal() // the actor's worker lost the shard
			}
		}
	}
	g.dirty = append(g.dirty, f)
}

// progressSample is the owner of a shard and its turn at one check of the watch.
type progressSample struct {
	owner *worker
	turn  uint64
}

// takeOver takes the shard from an owner that still runs the batch of the last sample while
// other mailboxes wait; the batch continues in a detached worker. It returns a new sample, and
// the number of waiting mailboxes if it took the shard.
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
	return s.work
}

// waiting returns the number of mailboxes that wait for a worker.
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
