package watchdog

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// A call that runs long works in slices and rests between them, so that what else the
// process has to do waits for a slice at most, and not for a core. All that tunes it:
const (
	// slice is how long a call works between two rests.
	slice = 500 * time.Microsecond
	// allocRate is how many bytes a second such a call may allocate; what the process
	// allocates during a slice counts as the call's. Others pay for more by what the
	// garbage collector takes.
	allocRate = 24 << 20
	// nap bounds how long a rest goes on after the call was interrupted.
	nap = 5 * time.Millisecond
)

// paces say how long a call rests for each slice of work, as a multiple of it, from a
// time after its start on: half of a core, then a quarter, then a tenth.
var paces = [...]struct {
	after time.Duration
	rest  int32
}{{20 * time.Millisecond, 1}, {100 * time.Millisecond, 3}, {time.Second, 9}}

// paceAfter is how long a call works without a rest.
var paceAfter = paces[0].after

// pacer is what a Watch needs for that.
type pacer struct {
	rest atomic.Int32 // set by looks; 0: go on

	// of the owner
	call      int64 // since of the call that the others are about
	began     time.Duration
	allocated uint64
	sample    [1]metrics.Sample
}

// Pause is called by the owner during a call, as often as it can: it rests if the call
// has run long and another slice of it is over. Otherwise it costs an atomic load.
//
// Calls are paced if there is somebody to suffer: another Watch, and as many long calls
// as half of the cores. Rests count as time of the call (Options.Limit).
func (w *Watch) Pause() {
	if rest := w.pacer.rest.Load(); rest != 0 {
		w.pace(time.Duration(rest))
	}
}

func (w *Watch) pace(rest time.Duration) {
	p, call, now := &w.pacer, w.since.Load(), time.Since(w.worker.start)
	switch {
	case call < oldest || now+oldest-time.Duration(call) < paceAfter:
		return // it ends, or has just begun
	case call != p.call: // its first
		p.call, p.began, p.allocated = call, now, p.heap()
		return
	case now-p.began < slice:
		return
	}
	allocated := time.Duration(p.heap() - p.allocated)
	end := now + max(rest*(now-p.began), allocated*time.Second/allocRate)
	for ; now < end && w.since.Load() == call; now = time.Since(w.worker.start) {
		time.Sleep(min(end-now, nap))
	}
	p.began, p.allocated = now, p.heap()
}

// heap returns how many bytes the process has allocated since its start.
func (p *pacer) heap() uint64 {
	p.sample[0].Name = "/gc/heap/allocs:bytes"
	metrics.Read(p.sample[:])
	return p.sample[0].Value.Uint64()
}

// setPaces says how long the calls under way rest from now on.
func (d *Dog) setPaces(open []*Watch, now time.Duration) {
	long := 0
	for _, w := range open {
		if paceOf(w.since.Load(), now) > 0 {
			long++
		}
	}
	suffer := len(d.watches) > 1 && 2*long >= runtime.GOMAXPROCS(0)
	for _, w := range open {
		rest := int32(0)
		if suffer {
			rest = paceOf(w.since.Load(), now)
		}
		if w.pacer.rest.Load() != rest {
			w.pacer.rest.Store(rest)
		}
	}
}

// paceOf returns the rest of a call that began at since.
func paceOf(since int64, now time.Duration) (rest int32) {
	if since < oldest {
		return 0
	}
	for _, p := range paces {
		if now+oldest-time.Duration(since) >= p.after {
			rest = p.rest
		}
	}
	return rest
}
