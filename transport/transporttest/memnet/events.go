package memnet

import (
	"container/heap"
	"time"
)

// event is a call at a later time.
type event struct {
	due   time.Time
	order uint64 // order among events with the same time
	fire  func(now time.Time)
}

// events is a heap with the earliest event first.
type events struct {
	list []event
	last uint64
}

func (e *events) Len() int { return len(e.list) }
func (e *events) Less(i, j int) bool {
	a, b := &e.list[i], &e.list[j]
	return a.due.Before(b.due) || a.due.Equal(b.due) && a.order < b.order
}
func (e *events) Swap(i, j int) { e.list[i], e.list[j] = e.list[j], e.list[i] }
func (e *events) Push(x any)    { e.list = append(e.list, x.(event)) }
func (e *events) Pop() any {
	last := len(e.list) - 1
	x := e.list[last]
	e.list[last] = event{}
	e.list = e.list[:last]
	return x
}

// at calls fire at a later time, with mu held. One timer serves all events. So events of the same time keep
// their order, and no goroutine waits for them.
func (n *Network) at(due time.Time, fire func(now time.Time)) {
	if n.closed {
		return
	}
	n.events.last++
	heap.Push(&n.events, event{due, n.events.last, fire})
	if n.events.list[0].order == n.events.last {
		n.arm()
	}
}

func (n *Network) arm() {
	d := time.Until(n.events.list[0].due)
	if n.timer == nil {
		n.timer = time.AfterFunc(d, n.run)
		return
	}
	n.timer.Reset(d)
}

// run fires all events that are due.
func (n *Network) run() {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	for len(n.events.list) > 0 && !n.events.list[0].due.After(now) {
		heap.Pop(&n.events).(event).fire(now)
	}
	if len(n.events.list) > 0 {
		n.arm()
	}
}
