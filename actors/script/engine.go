package script

import (
	"fmt"
	"time"
)

// This file contains code that all engines share. The types belong to the actor of a game session. Their zero
// values are ready for use.

// Questions are the pending decisions of a game session, by number.
type Questions struct {
	last  uint32
	open  map[uint32]*Pending
	sweep int // when open has this many entries, those that the host no longer waits for are removed (D-116)
}

const sweepMin = 256

// Ask adds a question. Its number is not 0.
func (q *Questions) Ask() (number uint32, p *Pending) {
	if q.open == nil {
		q.open, q.sweep = make(map[uint32]*Pending), sweepMin
	}
	if len(q.open) >= q.sweep {
		for n, p := range q.open {
			if Later(p).Pending() == nil {
				delete(q.open, n)
			}
		}
		q.sweep = max(sweepMin, 2*len(q.open))
	}
	if q.last++; q.last == 0 {
		q.last++
	}
	p = new(Pending)
	q.open[q.last] = p
	return q.last, p
}

// Answer decides a pending question and removes it. Other numbers are ignored.
func (q *Questions) Answer(number uint32, ok bool) {
	if p := q.open[number]; p != nil {
		delete(q.open, number)
		p.Decide(ok)
	}
}

// Len returns the number of pending questions.
func (q *Questions) Len() int { return len(q.open) }

// slowWarnEvery is the minimum time between two warnings about slow calls in one log.
const slowWarnEvery = 10 * time.Second

// SlowCalls counts calls that took longer than Limits.Tick.
type SlowCalls struct {
	warned time.Time
	count  int // slow calls since the last warning
}

// Add counts a slow call, and occasionally logs a warning to the game session's log.
func (s *SlowCalls) Add(p *Process, what string, took, tick time.Duration) {
	p.Counters.ScriptSlowCalls.Add(1)
	s.count++
	if now := time.Now(); now.Sub(s.warned) >= slowWarnEvery {
		p.Log.At(LevelWarn, "script", 0, fmt.Sprintf("%s took %v; more than %v holds the game up (calls like this since the last warning: %d)", what, took.Round(time.Millisecond), tick, s.count))
		s.warned, s.count = now, 0
	}
}
