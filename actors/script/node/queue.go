package node

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

// queueMax is how many bytes may wait for a child. Beyond it the game session ends: a script must hear all, and all would wait.
const queueMax = 4 << 20

const keptMax = 64 << 10 // bounds the memory that an empty queue keeps

// queue holds frames for a child until its writer takes them. Any goroutine may use it.
type queue struct {
	wake chan struct{} // of one element: there is something to write

	mu     sync.Mutex
	buf    []byte
	closed bool
	full   bool // has overflowed, for good
}

var (
	errTooLong = errors.New("longer than a frame may be")
	errFull    = errors.New("the queue is full")
)

// put adds a frame that fill completes. If the error is errTooLong or errFull, it is left out.
func (q *queue) put(k toChild, fill func(f *frame)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	start := len(q.buf)
	f := frame{append(q.buf, 0, 0, 0, 0, byte(k))}
	if fill != nil {
		fill(&f)
	}
	n := len(f.b) - start - 4
	if n > frameMax {
		return errTooLong
	}
	if q.full = q.full || len(f.b) > queueMax; q.full {
		return errFull
	}
	binary.LittleEndian.PutUint32(f.b[start:], uint32(n))
	if q.buf = f.b; q.closed {
		q.buf = nil
	}
	q.wakeWriter()
	return nil
}

func (q *queue) wakeWriter() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed, q.buf = true, nil
	q.wakeWriter()
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
