package watchdog

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// A call that runs long works in slices and rests between them, so that what else the process has to do waits for a slice at most:
const (
	longAfter = 500 * time.Microsecond // how long a call runs before it is long, and Options.Long is told
	slice     = 100 * time.Microsecond // of work between two rests
	// freeBytes is how many bytes a call may allocate before it pays for more, and perByte how long it rests for each of these: the garbage
	// collector holds up all others. A call that has allocated some times freeBytes pays for each byte so many times as much.
	freeBytes  = 24 << 20
	perByte    = 40 * time.Nanosecond
	nap        = 5 * time.Millisecond // bounds how long a rest goes on after the call was interrupted
	clockEvery = 256                  // bounds how many pauses go by between two looks at the clock
)

// SlowAfter is how long a call runs before Options.Slow is told: longer than any that is meant, and short for a person who waits.
const SlowAfter = 2 * time.Second

// paces say how many times as long as a slice of work a call rests: it has half of a core, then a quarter, then a sixth.
var paces = [...]struct {
	after time.Duration
	rest  time.Duration
}{{longAfter, 1}, {100 * time.Millisecond, 3}, {time.Second, 5}}

// pacer is what a Watch needs for that. It is the owner's.
type pacer struct {
	left    int // pauses until the clock is looked at
	every   int // so many
	long    bool
	slow    bool // Options.Slow was told of the call
	measure bool // the first pause of the call measures what its owner holds

	looked    time.Duration // at the clock; 0: not during this call
	began     time.Duration // the slice; 0: there was none during this call
	allocated int64         // by the process, then
	sample    [1]metrics.Sample
	account   account
}

// account is what a call has allocated: what the process has while the call worked, less what others have, which shows while it rests.
type account struct {
	worked, rested time.Duration
	inWork, inRest int64 // bytes that the process has allocated meanwhile
	own            int64 // bytes by the call, the most that it has looked like
}

// Pause is called by the owner during a call, as often as it can; it costs some nanoseconds, unless a slice of a long call is over: then it
// rests. Calls are paced only beside another Watch, and as many long calls as half of the cores. Rests count as time of the call
// (Options.Limit).
func (w *Watch) Pause() {
	if w.pacer.left--; w.pacer.left < 0 || w.measureDue.Load() {
		w.look()
	}
}

// Worked is Pause after something during which nothing could pause has just run for so long.
func (w *Watch) Worked(took time.Duration) {
	p := &w.pacer
	if took < slice {
		return
	}
	if w.since.Load() >= oldest && p.began == 0 { // else it rests for what came before as well
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

// look looks at the clock, and rests if it is time to.
func (w *Watch) look() {
	w.MeasureIfDue()
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

// contended reports whether long calls are to be paced.
func (d *Watchdog) contended() bool {
	return d.others.Load() && 2*int(d.long.Load()) >= runtime.GOMAXPROCS(0)
}

// rest rests if a slice is over.
func (w *Watch) rest(since int64, took, now time.Duration) {
	p := &w.pacer
	if p.began == 0 { // its first
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

// pay takes what the process has allocated during a slice, and returns how long the call rests for its part in that.
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
