package sessionlog

import (
	"time"

	"troupe/actors/script"
)

// sink writes into the log of one game session.
type sink struct {
	store *Store
	log   *log

	closed bool // guarded by store.mu
}

// discard is the sink of an id that cannot have a log.
type discard struct{}

func (discard) Write(script.Line) {}
func (discard) Close()            {}

// Write implements script.Sink. It copies the line into the queue, or counts it as
// missing if the queue is full.
func (k *sink) Write(line script.Line) {
	text := appendLine(nil, line)
	s, l := k.store, k.log
	s.mu.Lock()
	if k.closed || s.closed {
		s.mu.Unlock()
		return
	}
	fits := len(l.pending)+len(text) <= min(pendingMax, int(s.o.FileBytes/2)) && s.pending+len(text) <= pendingAllMax
	if fits {
		l.pending = append(l.pending, text...)
		l.lines++
		s.pending += len(text)
	} else {
		l.missing++
	}
	s.enqueue(l)
	s.mu.Unlock()
	if !fits {
		s.o.Counters.LogLinesDropped.Add(1)
	}
}

// Close implements script.Sink: the game session is over.
func (k *sink) Close() {
	s, l := k.store, k.log
	s.mu.Lock()
	defer s.mu.Unlock()
	if k.closed {
		return
	}
	k.closed = true
	if l.writers--; l.writers == 0 {
		l.ended = time.Now()
		s.enqueue(l)
	}
}

// enqueue queues a log for the writer. The caller holds mu.
func (s *Store) enqueue(l *log) {
	if l.queued {
		return
	}
	l.queued = true
	s.dirty = append(s.dirty, l)
	select {
	case s.wake <- struct{}{}:
	default: // it is awake
	}
}
