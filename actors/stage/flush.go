package stage

import (
	"math"
	"time"
)

// Flusher is output that is sent later than it is made: Context.Dirty and Context.AtEnd say when.
type Flusher interface {
	// Flush sends the output. It must not block. Due is the Due of the Turn that Dirty returned, or EndOfBatch;
	// output that was sent meanwhile, and has a later turn by now, may wait for that one. Calls may overlap.
	Flush(due int64)
}

// EndOfBatch is the due of a flush that Context.AtEnd asked for. It is later than that of any Turn.
const EndOfBatch = math.MaxInt64

// Turn is when output will be flushed. Times are in ns since some fixed time of the shard.
type Turn struct {
	Now, Due int64
	// Interval is that of the policy. Output may be flushed before its turn if as much waits as usually comes in that
	// time. It is 0 if nothing is gained by that: output is flushed at the end of the batch, or the machine is full.
	Interval time.Duration
}

// FlushPolicy says when a shard flushes dirty Flushers.
type FlushPolicy struct {
	// Interval 0 flushes after every batch of one mailbox. A positive interval
	// collects output for so long, also when idle, counted from the first of it: 15 ms suits
	// large groups of players. While the machine is full of writing,
	// it is twice as long. Negative (Adaptive) flushes at once while the shard
	// keeps up, and at the latest after HoldMax while mailboxes are waiting; while the
	// machine is full of writing it is like an interval of 15 ms.
	Interval time.Duration
	// Spread is how many turns to flush a shard has in an interval while output is collected for some time; 0 means
	// one. With more turns a shard with many actors writes a little all the time, and output waits for up to an
	// interval, but for at least an interval less the time between two turns.
	Spread int
}

// Adaptive is the FlushPolicy interval that collects output only under load.
const Adaptive time.Duration = -1

// HoldMax is how long an adaptive shard may collect output while mailboxes wait: a third of a
// 60 Hz frame.
const HoldMax = 5 * time.Millisecond

// flushKeepMax is the capacity a list of flushers may keep.
const flushKeepMax = 4096

// gathering is the output that is flushed at one turn. Times are those of Shard.now.
type gathering struct {
	dirty []dirty
	due   int64 // when dirty is to be flushed at the latest; 0: there is none
}

// dirty is one output of a gathering, which may have got several turns.
type dirty struct {
	f   Flusher
	due int64
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
	if s.policy.Interval < 0 && s.strained.Load() {
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

// crowdedTurn is how many outputs a turn has from which some are flushed earlier instead.
const crowdedTurn = 8

// turnLocked returns the turn of output that is collected from now on, and its gathering. With an interval, turns
// are at fixed times, so output of several actors has the same one. Output that is collected after a delay waits for as
// long as any other: otherwise a shard that takes long to flush would collect little when collecting saves most. If
// much more output has the last possible turn than one a little before, it is that one: otherwise output that was
// late together would be flushed together for ever, the last of it late each time.
func (s *Shard) turnLocked() (Turn, *gathering) {
	now, interval := s.now(), s.interval()
	if interval <= 0 {
		return Turn{Now: now, Due: now + int64(HoldMax)}, &s.turns[0]
	}
	t, hold := Turn{Now: now, Interval: interval}, interval
	if s.strained.Load() {
		t.Interval, hold = 0, 2*interval
	}
	step := max(1, int64(interval)/int64(s.spread))
	last := (now + int64(hold) - s.phase) / step
	g, n := s.gatheringOf(last), last
	for before := last - 1; before >= last-int64(s.spread)/4 && len(g.dirty) >= crowdedTurn; before-- {
		if other := s.gatheringOf(before); len(other.dirty) < len(g.dirty)/2 {
			g, n = other, before
		}
	}
	t.Due = max(now+1, s.phase+n*step)
	return t, g
}

// gatheringOf returns that of the n-th turn.
func (s *Shard) gatheringOf(n int64) *gathering { return &s.turns[n%int64(len(s.turns))] }

// flushLocked flushes the gatherings that are due, in the order of their turns, until none is, or until w
// has something better to do. It releases mu meanwhile. If another worker is flushing, that worker
// flushes everything.
func (s *Shard) flushLocked(w *worker) {
	if s.flushing {
		return
	}
	s.flushing = true
	for g := s.dueTurnLocked(); g != nil; g = s.dueTurnLocked() {
		dirty := g.dirty
		now := s.now()
		if interval := s.policy.Interval; interval > 0 {
			s.work.late += min(max(0, time.Duration(now-g.due)), interval/2) // a single delay is no strain
			s.work.turns++
		}
		g.dirty, s.spare, g.due = s.spare, nil, 0
		s.began = now
		s.noteDueLocked()
		s.mu.Unlock()
		s.flushAll(dirty)
		took := s.now() - now
		s.mu.Lock()
		s.began = 0
		s.work.flushing += time.Duration(took)
		if cap(dirty) <= flushKeepMax {
			s.spare = dirty[:0]
		}
		if s.leavesLocked(w) {
			break
		}
	}
	s.flushing = false
}

// leavesLocked reports whether w should flush no further gathering now: the dedicated worker, if mailboxes wait
// and nobody runs them, because a shard that is behind always has one that is due; and a worker that
// lost the shard, because it may be the reader of a connection.
func (s *Shard) leavesLocked(w *worker) bool {
	if s.dedicated == w {
		return s.owner == nil && s.ready.len() > 0
	}
	return s.owner != w
}

// dueTurnLocked returns the gathering whose turn is first if it is to be flushed now, else nil. Who
// asks has found that a flush is due, so without an interval all gatherings are.
func (s *Shard) dueTurnLocked() *gathering {
	first := s.due.Load()
	if first == 0 || !s.closed && s.interval() > 0 && s.now() < first {
		return nil
	}
	for i := range s.turns {
		if g := &s.turns[i]; g.due == first {
			return g
		}
	}
	return nil
}

// noteDueLocked sets due.
func (s *Shard) noteDueLocked() {
	first := int64(0)
	for i := range s.turns {
		if due := s.turns[i].due; due != 0 && (first == 0 || due < first) {
			first = due
		}
	}
	s.due.Store(first)
}

// flushAll flushes all of list, and empties it.
func (s *Shard) flushAll(list []dirty) {
	for i, d := range list {
		s.flush(d)
		list[i] = dirty{}
	}
}

// flush contains a panic of one flusher.
func (s *Shard) flush(d dirty) {
	defer s.stage.contain("flush", d.f)
	d.f.Flush(d.due)
}

// markDirty schedules a flush of f according to the policy.
func (s *Shard) markDirty(f Flusher) Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, g := s.turnLocked()
	if g.due == 0 {
		g.due = t.Due
		if first := s.due.Load(); first == 0 || g.due < first {
			s.due.Store(g.due)
			if s.owner == nil {
				s.wake.Signal() // the actor's worker lost the shard
			}
		}
	}
	g.dirty = append(g.dirty, dirty{f, t.Due})
	return t
}

// markAtEnd schedules a flush of f at the end of the batch.
func (s *Shard) markAtEnd(f Flusher) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.atEnd = append(s.atEnd, dirty{f, EndOfBatch})
}

// flushAtEndLocked flushes what batches have asked for at their end. It releases mu meanwhile.
func (s *Shard) flushAtEndLocked() {
	for len(s.atEnd) > 0 {
		list, began := s.atEnd, s.now()
		s.atEnd, s.spareAtEnd = s.spareAtEnd, nil
		s.mu.Unlock()
		s.flushAll(list)
		took := s.now() - began
		s.mu.Lock()
		s.work.flushing += time.Duration(took)
		if cap(list) <= flushKeepMax {
			s.spareAtEnd = list[:0]
		}
	}
}
