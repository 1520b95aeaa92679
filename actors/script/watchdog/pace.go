package watchdog

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// A call that runs long works in slices and rests between them, so that what else the
// process has to do waits for a slice at most, and not for a core. All that tunes it:
const (
	// longAfter is how long a call runs before it is long, and Options.Long is told.
	longAfter = time.Millisecond
	// slice is how long a call works between two rests.
	slice = 250 * time.Microsecond
	// grownMax is how many bytes the process may have grown by during a call before the
	// call pays for what is allocated: garbage that is soon gone costs others little.
	grownMax = 48 << 20
	// nap bounds how long a rest goes on after the call was interrupted.
	nap = 5 * time.Millisecond
	// clockEvery bounds how many pauses go by between two looks at the clock, which
	// are to be some to a slice.
	clockEvery = 256
)

// paces say how a call is paced from a time after its start on: how long it rests for
// each slice of work, as a multiple of it (half of a core, then a quarter, then a
// sixth), and how long at least for each byte that the process has allocated meanwhile
// once it has grown by grownMax, for which others would pay by what the garbage collector
// takes: 40 ns are 24 MiB a second.
var paces = [...]struct {
	after   time.Duration
	rest    int
	perByte time.Duration
}{
	{after: 2 * time.Millisecond, rest: 1},
	{after: 20 * time.Millisecond, rest: 1, perByte: 40},
	{after: 100 * time.Millisecond, rest: 3, perByte: 40},
	{after: time.Second, rest: 5, perByte: 40},
}

// pacer is what a Watch needs for that. It is the owner's.
type pacer struct {
	left  int // pauses until the clock is looked at
	every int // so many
	long  bool

	looked    time.Duration // at the clock; 0: not during this call
	began     time.Duration // the slice; 0: there was none during this call
	allocated int64         // then
	heap      int64         // bytes in objects at the first slice
	sample    [2]metrics.Sample
}

// Pause is called by the owner during a call, as often as it can; it costs some
// nanoseconds, unless the call has run long and another slice of it is over: then it
// rests. Calls are paced only if there is somebody to suffer: another Watch, and as many
// long calls as half of the cores. Rests count as time of the call (Options.Limit).
func (w *Watch) Pause() {
	if w.pacer.left--; w.pacer.left < 0 {
		w.look()
	}
}

// begin and end are called by Begin and End.
func (p *pacer) begin() { p.left, p.looked, p.began = p.every, 0, 0 }

func (w *Watch) endPace() {
	if w.pacer.long {
		w.pacer.long = false
		w.dog.long.Add(-1)
	}
}

// look looks at the clock, and rests if it is time to.
func (w *Watch) look() {
	p, since, now := &w.pacer, w.since.Load(), time.Since(w.worker.start)
	if since < oldest {
		p.left = clockEvery // no call, or one that must end
		return
	}
	took := now + oldest - time.Duration(since)
	p.tune(now, took)
	if took < longAfter {
		return
	}
	if !p.long {
		p.long = true
		w.dog.long.Add(1)
		if w.o.Long != nil {
			w.o.Long()
		}
	}
	if took >= paces[0].after && w.dog.suffers() {
		w.rest(since, took, now)
	}
}

// tune sees to it that the clock is looked at some times during a slice.
func (p *pacer) tune(now, took time.Duration) {
	last := took
	if p.looked > 0 {
		last = now - p.looked
	}
	switch {
	case last > slice/4:
		p.every /= 2
	case last < slice/16:
		p.every = min(2*p.every+1, clockEvery)
	}
	p.left, p.looked = p.every, now
}

// suffers reports whether long calls are to be paced.
func (d *Dog) suffers() bool {
	return d.others.Load() && 2*int(d.long.Load()) >= runtime.GOMAXPROCS(0)
}

// rest rests if a slice is over.
func (w *Watch) rest(since int64, took, now time.Duration) {
	p := &w.pacer
	if p.began == 0 { // its first
		p.began = now
		p.allocated, p.heap = p.read()
		return
	}
	worked := now - p.began
	if worked < slice {
		return
	}
	pace := paces[0]
	for _, next := range paces {
		if took >= next.after {
			pace = next
		}
	}
	rest := worked * time.Duration(pace.rest)
	if allocated, heap := p.read(); heap-p.heap > grownMax {
		rest = max(rest, time.Duration(allocated-p.allocated)*pace.perByte)
	}
	end := now + rest
	for ; now < end && w.since.Load() == since; now = time.Since(w.worker.start) {
		time.Sleep(min(end-now, nap))
	}
	p.began, p.looked = now, now
	p.allocated, _ = p.read()
}

// read returns how many bytes the process has allocated since its start, and how many
// are in objects, live or not yet swept.
func (p *pacer) read() (allocated, heap int64) {
	p.sample[0].Name, p.sample[1].Name = "/gc/heap/allocs:bytes", "/memory/classes/heap/objects:bytes"
	metrics.Read(p.sample[:])
	return int64(p.sample[0].Value.Uint64()), int64(p.sample[1].Value.Uint64())
}
