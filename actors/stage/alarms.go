package stage

import (
	"sync"
	"time"
)

// alarms are a shard's armed timers: a heap, 80 bytes each, and one timer of the runtime, which would take 170 more each.
type alarms struct {
	started time.Time

	mu sync.Mutex
	// guarded by mu
	heap    []alarm
	runtime *time.Timer   // nil before the first timer is armed
	at      time.Duration // when runtime fires; 0: it does not
}

// alarmsKeepMax is the capacity that an empty heap may keep.
const alarmsKeepMax = 1024

// alarm is a timer and when it fires.
type alarm struct {
	at    time.Duration
	timer *Timer
}

// now returns the time since the start, monotonic.
func (a *alarms) now() time.Duration { return time.Since(a.started) }

// set adds t, or moves it if it is there.
func (a *alarms) set(t *Timer, at time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.place < 0 {
		a.heap = append(a.heap, alarm{})
		t.place = int32(len(a.heap) - 1)
	}
	a.place(int(t.place), alarm{at, t})
	a.wakeLocked()
}

// remove takes t out.
func (a *alarms) remove(t *Timer) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.place >= 0 {
		a.removeLocked(t)
	}
}

func (a *alarms) removeLocked(t *Timer) {
	last := len(a.heap) - 1
	i, moved := int(t.place), a.heap[last]
	a.heap[last] = alarm{}
	a.heap = a.heap[:last]
	t.place = -1
	if i < last {
		a.place(i, moved)
	}
	if last == 0 {
		a.runtime.Stop()
		a.at = 0
		if cap(a.heap) > alarmsKeepMax {
			a.heap = nil
		}
	}
}

// place puts e into the hole at i of the heap, and moves it to where it belongs.
func (a *alarms) place(i int, e alarm) {
	h := a.heap
	for i > 0 {
		up := (i - 1) / 2
		if h[up].at <= e.at {
			break
		}
		h[i] = h[up]
		h[i].timer.place = int32(i)
		i = up
	}
	for {
		down := 2*i + 1
		if down+1 < len(h) && h[down+1].at < h[down].at {
			down++
		}
		if down >= len(h) || e.at <= h[down].at {
			break
		}
		h[i] = h[down]
		h[i].timer.place = int32(i)
		i = down
	}
	h[i] = e
	e.timer.place = int32(i)
}

// wakeLocked arms the runtime's timer for the earliest timer. It may fire too early, for one stopped or moved.
func (a *alarms) wakeLocked() {
	first := a.heap[0].at
	if a.at != 0 && a.at <= first {
		return
	}
	a.at = max(first, 1)
	d := first - a.now()
	if a.runtime == nil {
		a.runtime = time.AfterFunc(d, a.fire)
		return
	}
	a.runtime.Reset(d)
}

// fire sends the timers that are due to their owners.
func (a *alarms) fire() {
	a.mu.Lock()
	a.at = 0
	for len(a.heap) > 0 && a.heap[0].at <= a.now() {
		t := a.heap[0].timer
		a.removeLocked(t)
		a.mu.Unlock()
		t.owner.self.mailbox.Tell(t)
		a.mu.Lock()
	}
	if len(a.heap) > 0 {
		a.wakeLocked()
	}
	a.mu.Unlock()
}
