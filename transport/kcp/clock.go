package kcp

import (
	"container/heap"
	"runtime"
	"sync"
	"time"
)

// clock is the timer of all connections of a Listener. Its one goroutine fires due connections one after another.
// Thousands can be due at once, because the host is late or many peers left together. With a goroutine for each of
// them, the socket's reader would run too rarely to read the peers' acks, and more data would be resent.
type clock struct {
	start time.Time
	fired func() // called before each onTimer; nil except in tests

	mu     sync.Mutex
	queue  entries
	timer  *time.Timer
	at     time.Duration // when the timer fires; never if it is not set
	firing bool          // fire is running
}

// firesInARow is how many connections are fired before fire yields to other goroutines.
const firesInARow = 16

// entry is a connection's position in the queue of a clock. The clock's mu guards it.
type entry struct {
	at    time.Duration // when the connection is due, on the clock's time
	place int           // index in the queue plus 1; 0 if not queued
}

func newClock() *clock { return &clock{start: time.Now(), at: never} }

// set makes e fire after the given time and replaces an earlier setting. The caller holds the engine's lock.
func (c *clock) set(e *engine, after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Since(c.start) + after
	if n := &e.timer.entry; n.place > 0 {
		n.at = at
		heap.Fix(&c.queue, n.place-1)
	} else {
		n.at = at
		heap.Push(&c.queue, e)
	}
	c.wind()
}

// stop removes an engine from the queue. It may run while the engine is about to fire.
func (c *clock) stop(e *engine) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := &e.timer.entry; n.place > 0 {
		heap.Remove(&c.queue, n.place-1)
	}
	if len(c.queue) == 0 && c.at != never {
		c.timer.Stop()
		c.at = never
	}
}

// wind sets the timer for the first entry, unless the timer already fires by then. The caller holds mu.
func (c *clock) wind() {
	if c.firing || len(c.queue) == 0 || c.queue[0].timer.entry.at >= c.at {
		return
	}
	c.at = c.queue[0].timer.entry.at
	after := c.at - time.Since(c.start)
	if c.timer == nil {
		c.timer = time.AfterFunc(after, c.fire)
	} else {
		c.timer.Reset(after)
	}
}

// fire runs in the timer's goroutine and fires every connection that is due.
func (c *clock) fire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.firing {
		return
	}
	c.firing, c.at = true, never
	for n := 1; len(c.queue) > 0 && c.queue[0].timer.entry.at <= time.Since(c.start); n++ {
		e := c.queue[0]
		heap.Remove(&c.queue, 0)
		c.mu.Unlock()
		if c.fired != nil {
			c.fired()
		}
		e.onTimer()
		if n%firesInARow == 0 {
			runtime.Gosched()
		}
		c.mu.Lock()
	}
	c.firing = false
	c.wind()
}

// entries is a heap of engines, ordered by due time.
type entries []*engine

// Len implements heap.Interface.
func (q entries) Len() int { return len(q) }

// Less implements heap.Interface.
func (q entries) Less(i, j int) bool { return q[i].timer.entry.at < q[j].timer.entry.at }

// Swap implements heap.Interface.
func (q entries) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].timer.entry.place, q[j].timer.entry.place = i+1, j+1
}

// Push implements heap.Interface.
func (q *entries) Push(x any) {
	e := x.(*engine)
	*q = append(*q, e)
	e.timer.entry.place = len(*q)
}

// Pop implements heap.Interface.
func (q *entries) Pop() any {
	last := len(*q) - 1
	e := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	e.timer.entry.place = 0
	return e
}
