package js

import (
	"container/heap"
	"math"
	"time"

	"github.com/dop251/goja"
)

// timers are the timers of one runtime: a heap by due time, then by creation
// (realtime.md 18.2), with one timer of the game session for the earliest.
type timers struct {
	h     *Handler
	heap  timerHeap
	byID  map[int64]*timer
	last  int64
	armed time.Time // when the game session's timer fires; zero: it does not
	stop  func()
}

type timer struct {
	id    int64
	due   time.Time
	every time.Duration // 0: once
	call  goja.Callable
	args  []goja.Value
	index int
}

func (t *timers) init(h *Handler) { t.h, t.byID = h, map[int64]*timer{} }

// delay converts as Node does: 1 ms for what is shorter, longer than 2^31 or no number.
func delay(v goja.Value) time.Duration {
	ms := v.ToFloat()
	if !(ms >= 1 && ms <= math.MaxInt32) {
		ms = 1
	}
	return time.Duration(ms) * time.Millisecond
}

func (t *timers) add(c goja.FunctionCall, repeat bool) goja.Value {
	call, ok := goja.AssertFunction(c.Argument(0))
	if !ok {
		panic(t.h.vm.NewTypeError("The \"callback\" argument must be of type function. Received %s", c.Argument(0).String()))
	}
	if limit := t.h.program.limits.TimersMax; limit > 0 && len(t.byID) >= limit {
		panic(t.h.rangeError("more than %d timers", limit))
	}
	d := delay(c.Argument(1))
	t.last++
	n := &timer{id: t.last, due: time.Now().Add(d), call: call}
	if repeat {
		n.every = d
	}
	if len(c.Arguments) > 2 {
		n.args = append(n.args, c.Arguments[2:]...)
	}
	t.byID[n.id] = n
	heap.Push(&t.heap, n)
	t.arm()
	return t.h.vm.ToValue(n.id)
}

func (t *timers) clear(id int64) {
	if n := t.byID[id]; n != nil {
		delete(t.byID, id)
		if n.index >= 0 {
			heap.Remove(&t.heap, n.index)
		}
	}
}

// arm makes the game session's timer fire no later than the earliest is due.
func (t *timers) arm() {
	if len(t.heap) == 0 || t.h.session == nil || !t.armed.IsZero() && !t.heap[0].due.Before(t.armed) {
		return
	}
	if t.stop != nil {
		t.stop()
	}
	t.armed = t.heap[0].due
	t.stop = t.h.session.After(time.Until(t.armed), t.fire)
}

// fire runs what is due; what becomes due meanwhile waits for the next time.
func (t *timers) fire() {
	t.armed, t.stop = time.Time{}, nil
	now := time.Now()
	for len(t.heap) > 0 && !t.heap[0].due.After(now) && !t.h.dead {
		n := heap.Pop(&t.heap).(*timer)
		if n.every == 0 {
			delete(t.byID, n.id)
		}
		t.h.callback("timer", n.call, n.args)
		if _, alive := t.byID[n.id]; alive {
			n.due = n.due.Add(n.every)
			if n.due.Before(now) {
				n.due = now.Add(n.every)
			}
			heap.Push(&t.heap, n)
		}
	}
	if !t.h.dead {
		t.arm()
	}
}

type timerHeap []*timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].id < h[j].id
	}
	return h[i].due.Before(h[j].due)
}
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	n := x.(*timer)
	n.index = len(*h)
	*h = append(*h, n)
}
func (h *timerHeap) Pop() any {
	old := *h
	n := old[len(old)-1]
	n.index = -1
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	return n
}
