package placement

import (
	"container/heap"
	"time"
)

// dueHeap is a heap of PENDING placements, ordered by the time of their next step.
type dueHeap []*entry

func (h dueHeap) Len() int { return len(h) }
func (h dueHeap) Less(i, j int) bool {
	if d := h[i].due.Compare(h[j].due); d != 0 {
		return d < 0
	}
	return h[i].number < h[j].number
}
func (h dueHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

// Push implements heap.Interface.
func (h *dueHeap) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

// Pop implements heap.Interface.
func (h *dueHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = -1
	return e
}

func (h *dueHeap) schedule(e *entry, at time.Time) {
	e.due = at
	if e.index < 0 {
		heap.Push(h, e)
	} else {
		heap.Fix(h, e.index)
	}
}

func (h *dueHeap) drop(e *entry) {
	if e.index >= 0 {
		heap.Remove(h, e.index)
	}
}
