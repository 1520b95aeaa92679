package loadgen

import (
	"sync"
	"time"
)

// watch records the timeline of a run.
type watch struct {
	timeline []Moment // owned by the goroutine; read after it has ended
	halt     chan struct{}
	done     chan struct{}
	once     sync.Once
}

// goWatch records a moment every plan.Every from the start of the measured part until end is called.
func (s *Swarm) goWatch(plan Plan, from int64) *watch {
	w := &watch{halt: make(chan struct{}), done: make(chan struct{})}
	if plan.Every <= 0 {
		close(w.done)
		return w
	}
	_, before := s.Totals()
	s.takeMoment() // discard the latencies of the warm-up
	at := s.now()
	go func() {
		defer close(w.done)
		ticker := time.NewTicker(plan.Every)
		defer ticker.Stop()
		for {
			select {
			case <-w.halt:
				return
			case <-ticker.C:
			}
			now := s.now()
			_, received := s.Totals()
			m := Moment{At: time.Duration(now - from), Latency: s.takeMoment()}
			m.PerSecond = float64(received-before) / time.Duration(now-at).Seconds()
			before, at = received, now
			w.timeline = append(w.timeline, m)
		}
	}()
	return w
}

// end stops the recording. It may be called again.
func (w *watch) end() {
	w.once.Do(func() { close(w.halt) })
	<-w.done
}

// takeMoment returns the quantiles of the latencies since the last call.
func (s *Swarm) takeMoment() Quantiles {
	all := newRecent()
	for i := range s.shards {
		r := &s.shards[i]
		r.mu.Lock()
		all.Merge(r.recent)
		r.recent.Reset()
		r.mu.Unlock()
	}
	return quantilesOf(all)
}
