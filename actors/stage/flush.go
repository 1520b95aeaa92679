package stage

import "time"

// Flusher sends, at the end of a batch, the output that it has collected. Flush must not block. Calls of
// Flush do not overlap, but an actor may add output during one.
type Flusher interface{ Flush() }

// FlushPolicy determines when a shard flushes dirty Flushers.
type FlushPolicy struct {
	// Interval is the time for which output is collected. With 0, a shard flushes after every batch of one
	// mailbox. A positive interval makes it flush at fixed times that far apart, even if it is idle; 15 ms
	// suits large groups of players. A negative interval (Adaptive) makes it flush at once while it keeps up,
	// and at most HoldMax later while mailboxes are waiting. Under strain (see strain), Adaptive is like an
	// interval of 30 ms.
	Interval time.Duration
	// Spread is the number of groups into which a shard's actors are divided while it collects output at
	// intervals; 0 means one. The flush times of the groups are spread over the interval, so that a shard
	// with many actors writes a little at a time.
	Spread int
}

// Adaptive is the value of FlushPolicy.Interval with which output is collected only under load.
const Adaptive time.Duration = -1

// HoldMax is how long an adaptive shard may collect output while mailboxes wait. It is about a third of a
// frame at 60 Hz.
const HoldMax = 5 * time.Millisecond

// flushKeepMax is the maximum capacity that an emptied list of flushers keeps.
const flushKeepMax = 4096

// gathering is the collected output of one group of actors. All times are values of Shard.now.
type gathering struct {
	dirty   []Flusher
	turn    int   // position of the group's flush time in the interval, in units of interval/Shard.turns
	due     int64 // latest time to flush dirty; 0 if dirty is empty
	flushed int64 // when the last flush began
}

// never means that there is nothing to flush.
const never time.Duration = -1

// untilFlushLocked returns how long an idle worker should still collect output. It returns never if there is
// none.
func (s *Shard) untilFlushLocked() time.Duration {
	switch {
	case !s.dirtyLocked() || s.flushing:
		return never
	case s.interval() <= 0:
		return 0
	}
	return max(0, time.Duration(s.due.Load()-s.now()))
}

// wakeAfterLocked wakes the dedicated worker after d. The timer takes the lock first, so it cannot fire
// before the worker waits.
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

// interval returns the interval of the policy, adjusted for strain.
func (s *Shard) interval() time.Duration {
	if s.policy.Interval < 0 && s.strained.Load() {
		return strainedInterval
	}
	return s.policy.Interval
}

// dirtyLocked reports whether there is output to flush, now or later.
func (s *Shard) dirtyLocked() bool { return s.due.Load() != 0 }

// now returns the time since started in nanoseconds, plus 1 so that it is never 0.
func (s *Shard) now() int64 { return int64(time.Since(s.started)) + 1 }

// overdue reports whether output must be flushed now. A mailbox with more messages should then pause for the
// flush.
func (s *Shard) overdue() bool {
	due := s.due.Load()
	return due != 0 && s.now() >= due
}

// dueLocked reports whether the policy requires a flush after a mailbox has run.
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

// dueAt returns when to flush output that a group begins to collect now. With an interval, that is the
// group's next turn, so groups that were flushed late at the same time are separated again. A turn less than
// half an interval after the last flush is skipped. Otherwise a shard that flushes slowly would collect the
// least output when collecting saves the most.
func (s *Shard) dueAt(g *gathering) int64 {
	now, interval := s.now(), int64(s.interval())
	if interval <= 0 {
		return now + int64(HoldMax)
	}
	first := 1 + interval*int64(g.turn)/int64(s.turns)
	after := now
	if g.flushed != 0 {
		after = max(now, g.flushed+interval/2)
	}
	if after < first {
		return first
	}
	return after + interval - (after-first)%interval
}

// flushLocked flushes the due groups in the order of their turns, and releases mu during each flush. It stops
// when no group is due or w has more important work (leavesLocked). If another worker is already flushing,
// flushLocked does nothing. Output added during the flush of its group waits for the next turn of the group.
func (s *Shard) flushLocked(w *worker) {
	if s.flushing {
		return
	}
	s.flushing = true
	for g := s.dueGroupLocked(); g != nil; g = s.dueGroupLocked() {
		dirty := g.dirty
		now := s.now()
		g.dirty, s.spare, g.due, g.flushed = s.spare, nil, 0, now
		s.began = now
		s.noteDueLocked()
		s.mu.Unlock()
		for i, f := range dirty {
			s.flush(f)
			dirty[i] = nil
		}
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

// leavesLocked reports whether w should not flush more groups now. The dedicated worker stops if mailboxes
// wait and nobody runs them, because a slow shard always has a due group. A worker that has lost the shard
// stops because it may be a reader goroutine.
func (s *Shard) leavesLocked(w *worker) bool {
	if s.dedicated == w {
		return s.owner == nil && s.ready.len() > 0
	}
	return s.owner != w
}

// dueGroupLocked returns the group whose turn came first, or nil if no group is due. Without an interval,
// every group with output is due.
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

func (s *Shard) noteDueLocked() {
	first := int64(0)
	for i := range s.groups {
		if due := s.groups[i].due; due != 0 && (first == 0 || due < first) {
			first = due
		}
	}
	s.due.Store(first)
}

// flush calls f.Flush and recovers from a panic.
func (s *Shard) flush(f Flusher) {
	defer s.stage.contain("flush", f)
	f.Flush()
}

// markDirty schedules a flush of f by the policy. f belongs to an actor of the given group.
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
				s.wake.Signal() // the worker that runs the actor has lost the shard
			}
		}
	}
	g.dirty = append(g.dirty, f)
}
