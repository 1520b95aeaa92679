package node

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"time"
)

// queueMax is the maximum number of bytes queued for a child. If it is exceeded, the game session ends: a
// script must receive all messages, and the game would stall.
const queueMax = 4 << 20

const keptMax = 64 << 10 // maximum buffer size that an empty queue keeps allocated

// queue holds frames for a child until the writer writes them. It is safe for concurrent use.
type queue struct {
	wake chan struct{} // capacity 1: there is something to write

	mu     sync.Mutex
	buf    []byte
	closed bool
	full   bool // the queue has overflowed; never reset
}

var (
	errTooLong = errors.New("longer than a frame may be")
	errFull    = errors.New("the queue is full")
)

// put adds a frame that fill completes. If the error is errTooLong or errFull, the frame is not added.
func (q *queue) put(game uint32, k toChild, fill func(f *frame)) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	start := len(q.buf)
	f := frame{append(q.buf, 0, 0, 0, 0)}
	f.u32(game)
	f.u8(uint8(k))
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

// run writes frames to w until close or an error. One write contains all frames that are queued. After a write
// it waits for pace, to gather more for the next one.
func (q *queue) run(w io.Writer, pace time.Duration) {
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
			return // the child has ended; others will notice
		}
		if spare = buf; cap(spare) > keptMax {
			spare = nil
		}
		time.Sleep(pace)
	}
}
