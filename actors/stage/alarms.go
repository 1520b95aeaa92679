package stage

import (
	"sync"
	"time"
)

// alarms contains the armed timers of a shard in a heap, at 80 bytes each. A single timer of the Go runtime
// wakes it for the earliest one. A runtime timer for each would take 170 bytes more per timer.
type alarms struct {
	started time.Time

	mu sync.Mutex
	// guarded by mu
	heap    []alarm
	runtime *time.Timer   // nil before the first timer is armed
	at      time.Duration // when runtime fires; 0 if it is not armed
}

// alarmsKeepMax is the maximum capacity that an empty heap keeps.
const alarmsKeepMax = 1024

// alarm is a timer and the time at which it fires.
type alarm struct {
	at    time.Duration
	timer *Timer
}

// now returns the monotonic time since started.
func (a *alarms) now() time.Duration { return time.Since(a.started) }

// set adds t to the heap, or moves it if it is already there.
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

// remove removes t from the heap if it is there.
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

// place stores e in the free slot i of the heap and moves it up or down to its position.
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

// wakeLocked arms the runtime timer for the earliest timer. After a timer was stopped or moved, the runtime
// timer may fire too early.
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

// fire sends each due timer, as a message, to the actor that owns it.
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
