package faults

import (
	"bytes"
	"container/heap"
	"sync"
	"time"
)

const (
	// onTheWayMax bounds the number of delayed packets in a lane. Packets above it are dropped.
	onTheWayMax = 1024
	// queueMax is how long packets may wait because of a limited rate. Packets that would wait longer are dropped.
	queueMax = time.Second
)

// lane carries the packets of one direction. Each packet is delivered once, delivered twice, delayed or dropped.
// Packets with the same due time keep their order. A lane has no goroutine: either the caller of take or a timer sends
// a packet. close stops the timer.
type lane struct {
	d    *direction
	send func([]byte) // called with mu held; may change the bytes, but must not retain them

	mu      sync.Mutex // guards the fields below
	waiting waiting
	number  uint64    // number of the next delayed packet
	free    time.Time // when a limited rate allows the next packet
	timer   *time.Timer
	closed  bool
}

// take passes a packet through the lane. size is the size of its IP packet.
func (l *lane) take(b []byte, size int) {
	for range l.d.copies(size) {
		l.takeOnce(bytes.Clone(b), size)
	}
}

func (l *lane) takeOnce(b []byte, size int) {
	if silent, _ := l.d.quiet(); silent {
		return
	}
	lost, delay, takes := l.d.draw(size)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	if lost || takes > 0 && l.free.Sub(now) > queueMax || len(l.waiting) >= onTheWayMax {
		return
	}
	due := now.Add(delay)
	if takes > 0 {
		l.free = l.free.Add(takes)
		due = l.free.Add(delay)
	}
	if !due.After(now) && (len(l.waiting) == 0 || l.waiting[0].due.After(now)) {
		l.send(b)
		return
	}
	heap.Push(&l.waiting, waits{bytes: b, due: due, number: l.number})
	l.number++
	l.arm()
}

// arm sets the timer for the packet with the earliest due time. The caller holds mu.
func (l *lane) arm() {
	if len(l.waiting) == 0 {
		return
	}
	wait := time.Until(l.waiting[0].due)
	if l.timer == nil {
		l.timer = time.AfterFunc(wait, l.drain)
	} else {
		l.timer.Reset(wait)
	}
}

// drain sends the packets that are due.
func (l *lane) drain() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 && !l.waiting[0].due.After(time.Now()) {
		next := heap.Pop(&l.waiting).(waits)
		if silent, _ := l.d.quiet(); !silent {
			l.send(next.bytes)
		}
	}
	l.arm()
}

// close drops all waiting and all later packets.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed, l.waiting = true, nil
	if l.timer != nil {
		l.timer.Stop()
	}
}

// waits is a delayed packet.
type waits struct {
	bytes  []byte
	due    time.Time
	number uint64
}

// waiting is a heap of packets. The first one has the earliest due time.
type waiting []waits

func (w waiting) Len() int { return len(w) }
func (w waiting) Less(i, j int) bool {
	return w[i].due.Before(w[j].due) || w[i].due.Equal(w[j].due) && w[i].number < w[j].number
}
func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(x any)   { *w = append(*w, x.(waits)) }
func (w *waiting) Pop() any {
	last := (*w)[len(*w)-1]
	(*w)[len(*w)-1] = waits{}
	*w = (*w)[:len(*w)-1]
	return last
}
