package stage

import "time"

// Flusher sends at the end of a batch what it has collected. Flush must not block, never overlaps, but may run while an actor adds.
type Flusher interface{ Flush() }

// FlushPolicy says when a shard flushes dirty Flushers.
type FlushPolicy struct {
	// Interval 0 flushes after every batch of one mailbox. A positive interval
	// collects output, also when idle, and flushes it at fixed times that are so far
	// apart: 15 ms suits large groups of players. While the machine is full of writing,
	// they are twice as far apart. Negative (Adaptive) flushes at once while the shard
	// keeps up, and at the latest after HoldMax while mailboxes are waiting; while the
	// machine is full of writing it is like an interval of 30 ms.
	Interval time.Duration
	// Spread is into how many groups a shard's actors are dealt out while output is collected; 0 means one.
	// Their times to flush are spread over the interval: a shard with many actors writes a little all the time.
	Spread int
}

// Adaptive is the FlushPolicy interval that collects output only under load.
const Adaptive time.Duration = -1

// HoldMax is how long an adaptive shard may collect while mailboxes wait: a third of a 60 Hz frame.
const HoldMax = 5 * time.Millisecond

// flushKeepMax is the capacity a list of flushers may keep.
const flushKeepMax = 4096

// gathering is the output that the actors of one group have collected. Times are those of Shard.now.
type gathering struct {
	dirty   []Flusher
	turn    int   // when in an interval the group is flushed: at turn/turns of it
	due     int64 // when dirty is to be flushed at the latest; 0: there is none
	flushed int64 // when the last flush began
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

// wakeAfterLocked wakes the dedicated worker after d: not before that waits, because the timer takes the lock.
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

// interval is that of the policy, or what it becomes under strain.
func (s *Shard) interval() time.Duration {
	switch i := s.policy.Interval; {
	case !s.strained.Load():
		return i
	case i < 0:
		return strainedInterval
	default:
		return strainTimes * i
	}
}

// dirtyLocked reports whether anything is to be flushed, now or later.
func (s *Shard) dirtyLocked() bool { return s.due.Load() != 0 }

// now is the time since a nanosecond before started, so it is never 0.
func (s *Shard) now() int64 { return int64(time.Since(s.started)) + 1 }

// overdue reports whether output may not wait any longer: a mailbox with more messages should pause for the flush.
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

// dueAt returns when output that a group collects from now on is flushed. With an interval that is the
// group's next turn: groups that were late together are apart again. A turn less than half an interval after
// the last flush is left out, or a shard that is slow to flush would collect least when it saves most.
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

// flushLocked flushes the groups that are due, in the order of their turns, until none is or w has something better to do, and
// releases mu meanwhile. If another worker is flushing, that one does it all. What an actor adds meanwhile waits for its next turn.
func (s *Shard) flushLocked(w *worker) {
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

// leavesLocked reports whether w should flush no more groups now: the dedicated worker if mailboxes wait and nobody
// runs them (a shard that is behind always has a due group), a worker that lost the shard because it may be a reader.
func (s *Shard) leavesLocked(w *worker) bool {
	if s.dedicated == w {
		return s.owner == nil && s.ready.len() > 0
	}
	return s.owner != w
}

// dueGroupLocked returns the group to flush now whose turn was first, or nil. A flush is due: without an interval, of all groups.
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
