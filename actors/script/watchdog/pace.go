package watchdog

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// A long call works in slices and rests between them, so that other work of the process is delayed by one
// slice at most.
const (
	longAfter = 500 * time.Microsecond // how long a call runs before it counts as long and Options.Long is called
	slice     = 100 * time.Microsecond // working time between two rests
	// freeBytes is how many bytes a call may allocate without additional rests. Beyond that it rests perByte
	// for each byte, multiplied by allocated/freeBytes. The reason is that the garbage collector delays all
	// other calls.
	freeBytes  = 24 << 20
	perByte    = 40 * time.Nanosecond
	nap        = 5 * time.Millisecond // maximum time that a rest continues after the call was interrupted
	clockEvery = 256                  // maximum number of calls of Pause between two readings of the clock
)

// SlowAfter is how long a call runs before Options.Slow is called. It is longer than any intended call, and
// short enough for a person who waits for the warning.
const SlowAfter = 2 * time.Second

// paces defines the length of a rest as a multiple of the preceding slice. A call gets half of a core at
// first, then a quarter, then a sixth.
var paces = [...]struct {
	after time.Duration
	rest  time.Duration
}{{longAfter, 1}, {100 * time.Millisecond, 3}, {time.Second, 5}}

// pacer is the pacing state of a Watch. Only the owner uses it.
type pacer struct {
	left    int // calls of Pause until the next reading of the clock
	every   int // initial value of left
	long    bool
	slow    bool // Options.Slow was called for this call
	measure bool // the first Pause of the call measures the owner

	looked    time.Duration // last reading of the clock; 0 if there was none during this call
	began     time.Duration // start of the slice; 0 if this call has not had one
	allocated int64         // bytes that the process had allocated at the start of the slice
	sample    [1]metrics.Sample
	account   account
}

// account estimates what a call has allocated: the allocations of the process while the call worked, minus
// those of others. The allocations of others are estimated from the rate while the call rests.
type account struct {
	worked, rested time.Duration
	inWork, inRest int64 // bytes that the process has allocated during work and during rests
	own            int64 // maximum of the estimates so far, in bytes
}

// Pause is called by the owner during a call as often as possible. It takes some nanoseconds, unless a slice
// of a long call is over; then it blocks for the rest. Calls are paced only if there is another Watch and if
// long calls occupy at least half of the cores. Rests count toward the duration of the call (Options.Limit).
func (w *Watch) Pause() {
	if w.pacer.left--; w.pacer.left < 0 || w.measureDue.Load() {
		w.look()
	}
}

// Worked is like Pause. It is called after work of duration took during which Pause could not be called.
func (w *Watch) Worked(took time.Duration) {
	p := &w.pacer
	if took < slice {
		return
	}
	if w.since.Load() >= oldest && p.began == 0 { // begin a slice in the past; otherwise the current slice includes this work
		p.began, p.allocated, p.account = max(1, time.Since(w.worker.start)-took), p.read(), account{}
	}
	p.left = 0
	w.look()
}

func (p *pacer) begin(measure bool) {
	p.left, p.looked, p.began, p.measure, p.slow = p.every, 0, 0, measure, false
	if measure {
		p.left = 0
	}
}

func (w *Watch) endPace() {
	if w.pacer.long {
		w.pacer.long = false
		w.watchdog.long.Add(-1)
	}
}

// look reads the clock, and rests if a slice is over.
func (w *Watch) look() {
	w.MeasureIfDue()
	p, since, now := &w.pacer, w.since.Load(), time.Since(w.worker.start)
	if since < oldest {
		p.left = clockEvery // there is no call, or it must end
		return
	}
	took := now + oldest - time.Duration(since)
	p.tune(now, took)
	if took < longAfter {
		return
	}
	w.lengthen()
	if took >= SlowAfter && !p.slow {
		p.slow = true
		if w.o.Slow != nil {
			w.o.Slow()
		}
	}
	if w.watchdog.contended() {
		w.rest(since, took, now)
	}
}

func (w *Watch) lengthen() {
	if w.pacer.long {
		return
	}
	w.pacer.long = true
	w.watchdog.long.Add(1)
	if w.o.Long != nil {
		w.o.Long()
	}
}

// tune adjusts every so that the clock is read several times per slice.
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

// contended reports whether long calls must be paced.
func (d *Watchdog) contended() bool {
	return d.others.Load() && 2*int(d.long.Load()) >= runtime.GOMAXPROCS(0)
}

// rest blocks for the time of a rest if a slice is over.
func (w *Watch) rest(since int64, took, now time.Duration) {
	p := &w.pacer
	if p.began == 0 { // the first slice of the call
		p.began, p.allocated, p.account = now, p.read(), account{}
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
	allocated, from := p.read(), now
	end := now + max(worked*pace.rest, p.account.pay(allocated-p.allocated, worked))
	for ; now < end && w.since.Load() == since; now = time.Since(w.worker.start) {
		time.Sleep(min(end-now, nap))
	}
	p.began, p.looked, p.allocated = now, now, p.read()
	p.account.rested += now - from
	p.account.inRest += p.allocated - allocated
}

// pay adds the allocations of the process during a slice, and returns how long the call must rest for its own
// share.
func (a *account) pay(allocated int64, worked time.Duration) time.Duration {
	a.inWork += allocated
	a.worked += worked
	own := a.inWork
	if a.rested > 0 {
		own -= int64(float64(a.inRest) * float64(a.worked) / float64(a.rested))
	}
	more := max(0, own-a.own)
	a.own += more
	return time.Duration(more*(a.own/freeBytes)) * perByte
}

func (p *pacer) read() int64 {
	p.sample[0].Name = "/gc/heap/allocs:bytes"
	metrics.Read(p.sample[:])
	return int64(p.sample[0].Value.Uint64())
}
