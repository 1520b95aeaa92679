package node

import (
	"errors"
	"io"
	"sync"
)

// queueMax is how much may wait for a child, in bytes. Beyond it the game session
// ends: what a script must hear cannot be left out, and waiting would hold up
// everybody.
const queueMax = 4 << 20

// keptMax bounds the memory that an empty queue keeps.
const keptMax = 64 << 10

// queue holds frames for a child until its writer takes them. Any goroutine may use it.
type queue struct {
	wake chan struct{} // of one element: there is something to write

	mu     sync.Mutex
	buf    []byte
	closed bool
	full   bool // has overflowed, for good
}

// begin starts a frame, and holds the queue until end.
func (q *queue) begin(k toChild) frame {
	q.mu.Lock()
	return begin(q.buf, k)
}

var (
	errTooLong = errors.New("longer than a frame may be")
	errFull    = errors.New("the queue is full")
)

// end adds a frame. If the error is errTooLong or errFull, it is left out.
func (q *queue) end(f *frame) error {
	defer q.mu.Unlock()
	b, fits := f.end()
	if !fits {
		return errTooLong
	}
	if q.full = q.full || len(b) > queueMax; q.full {
		q.buf = b[:f.start]
		return errFull
	}
	if q.buf = b; q.closed {
		q.buf = nil
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return nil
}

// close ends run.
func (q *queue) close() {
	q.mu.Lock()
	q.closed, q.buf = true, nil
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run writes frames to w, many at a time, until close or an error.
func (q *queue) run(w io.Writer) {
	var spare []byte
	for range q.wake {
		q.mu.Lock()
		buf, closed := q.buf, q.closed
		q.buf = spare[:0]
		q.mu.Unlock()
		if closed {
			return
		}
		if _, err := w.Write(buf); err != nil {
			return // the end of the child, which others see
		}
		if spare = buf; cap(spare) > keptMax {
			spare = nil
		}
	}
}
