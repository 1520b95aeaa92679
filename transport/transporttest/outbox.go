package transporttest

import (
	"runtime"
	"sync"
	"sync/atomic"

	"troupe/messages/wire"
)

// outbox is a wire.Source that checks how it is used: its drains are never concurrent, and none runs while
// resting is set.
type outbox struct {
	tb       TB
	resting  atomic.Bool // set while no connection may drain
	draining atomic.Bool
	entered  chan struct{} // gets an element when a drain begins
	yields   atomic.Int64  // number of times that a drain yields to other goroutines, to provoke races

	mu     sync.Mutex
	frames []*wire.Frame
	taken  int // number of frames taken
	bytes  int // bytes of the frames taken
}

func newOutbox(tb TB) *outbox {
	o := &outbox{tb: tb, entered: make(chan struct{}, 1)}
	tb.Cleanup(o.discard)
	return o
}

// put adds a frame and takes ownership of its reference.
func (o *outbox) put(f *wire.Frame) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.frames = append(o.frames, f)
}

// state returns the number of waiting frames, of taken frames, and the bytes of the latter.
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
