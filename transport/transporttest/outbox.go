package transporttest

import (
	"runtime"
	"sync"
	"sync/atomic"

	"troupe/messages/wire"
)

// outbox is a wire.Source that checks its use: one drain at a time, and none while
// it is said to be at rest.
type outbox struct {
	tb       TB
	resting  atomic.Bool // no connection may drain
	draining atomic.Bool
	entered  chan struct{} // holds a token once a drain has begun
	yields   atomic.Int64  // how often a drain lets others run, so that they can meet it

	mu     sync.Mutex
	frames []*wire.Frame
	taken  int // frames
	bytes  int // of them
}

func newOutbox(tb TB) *outbox {
	o := &outbox{tb: tb, entered: make(chan struct{}, 1)}
	tb.Cleanup(o.discard)
	return o
}

// put adds a frame and takes over its reference.
func (o *outbox) put(f *wire.Frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.frames = append(o.frames, f)
}

// state returns how many frames wait, how many were taken, and their bytes.
func (o *outbox) state() (waiting, taken, bytes int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.frames), o.taken, o.bytes
}

func (o *outbox) discard() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, f := range o.frames {
		f.Release()
	}
	o.frames = nil
}

// Drain implements wire.Source.
func (o *outbox) Drain(sink wire.Sink) (more bool) {
	if !o.draining.CompareAndSwap(false, true) {
		o.tb.Errorf("two drains of one source at once")
		return false
	}
	defer o.draining.Store(false)
	select {
	case o.entered <- struct{}{}:
	default:
	}
	more = o.fill(sink)
	for range o.yields.Load() {
		if o.resting.Load() {
			break
		}
		runtime.Gosched()
	}
	if o.resting.Load() {
		o.tb.Errorf("a source is drained after SetSource(nil) has returned")
	}
	return more
}

func (o *outbox) fill(sink wire.Sink) (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for room := true; room && len(o.frames) > 0; {
		f := o.frames[0]
		o.frames[0] = nil
		o.frames = o.frames[1:]
		o.taken++
		o.bytes += f.Len()
		room = sink.Append(f)
		f.Release()
	}
	return len(o.frames) > 0
}
