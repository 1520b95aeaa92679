package matchmaker

import (
	"container/heap"
	"time"

	"troupe/actors/stage"
)

// alarm calls a function of the Manager at a time. Its owner sets and clears it.
type alarm struct {
	at    time.Time // of the monotonic clock
	index int       // in alarms, counted from 1; 0: not there
	fire  func(c *stage.Context)
}

// alarms is a heap of alarms by time.
type alarms []*alarm

func (h alarms) Len() int           { return len(h) }
func (h alarms) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h alarms) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

// Push implements heap.Interface.
func (h *alarms) Push(x any) {
	a := x.(*alarm)
	*h = append(*h, a)
	a.index = len(*h)
}

// Pop implements heap.Interface.
func (h *alarms) Pop() any {
	old := *h
	a := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	a.index = 0
	return a
}

// set schedules an alarm, or moves it.
func (h *alarms) set(a *alarm, at time.Time) {
	a.at = at
	if a.index == 0 {
		heap.Push(h, a)
	} else {
		heap.Fix(h, a.index-1)
	}
}

// clear removes an alarm.
func (h *alarms) clear(a *alarm) {
	if a.index > 0 {
		heap.Remove(h, a.index-1)
	}
}

// setAlarm makes an alarm fire when a time of the wall clock comes, maybe at once.
func (m *Manager) setAlarm(c *stage.Context, a *alarm, at time.Time) {
	m.alarms.set(a, time.Now().Add(max(at.Sub(c.Now()), 0)))
	m.arm()
}

// arm sets the timer to the first alarm.
func (m *Manager) arm() {
	if len(m.alarms) == 0 {
		return
	}
	if first := m.alarms[0].at; m.armed.IsZero() || first.Before(m.armed) {
		m.armed = first
		m.timer.Reset(max(time.Until(first), 0))
	}
}

// onTick fires alarms that are due; if there are many, the rest in a Receive of its own, because the shard has other actors.
func (m *Manager) onTick(c *stage.Context) {
	m.armed = time.Time{}
	now := time.Now()
	for n := 0; n < alarmsMax && len(m.alarms) > 0 && !m.alarms[0].at.After(now); n++ {
		a := m.alarms[0]
		m.alarms.clear(a)
		a.fire(c)
	}
	m.arm()
}
