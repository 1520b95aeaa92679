package watchdog

import (
	"fmt"
	"runtime/metrics"
	"time"
)

// To measure what an owner holds takes up to a second for hundreds of MiB. So only an owner that may hold too much is measured: what it
// held last, and all that the process has allocated since, is more than MemoryMax; of several, whose calls have worked longest since. And
// one that has made so much in large pieces (Made) that it may hold too much.
const (
	memoryPeriod = 50 * time.Millisecond // the time between two choices of whom to measure
	// patience is since when at least a watch must have made a call to be chosen, and how long another choice waits for its next call.
	patience = time.Second
	// measureRest is for how many times as long as a measurement took there is no other: they take 1 % of a core. It is at most
	// measureRestMax, because on a busy machine a measurement takes many times as long as its work ...
	measureRest    = 100
	measureRestMax = 5 * time.Second
	// liveGrowth is by which part of MemoryMax the live objects of the process must have grown to be measured in spite of that.
	liveGrowth = 4
	madeLeast  = 4 // the part of MemoryMax that an owner must have made in large pieces to be measured for them
	// LargePiece is from how many bytes on a piece is to be told of by Made.
	LargePiece = 64 << 10
)

// weigher chooses whom of a worker's watches to measure. Guarded by Watchdog.mu.
type weigher struct {
	measuring bool          // somebody is
	next      time.Duration // when another choice is made, since worker.start
	rested    time.Duration // until when measurements rest
	live      int64         // bytes alive, the least since the last measurement
}

// weight is what a weigher knows of a watch. Guarded by Watchdog.mu.
type weight struct {
	held      int64         // bytes, when it was measured
	allocated int64         // by the process until then, or until the watch was made
	measured  time.Duration // worked, then
	seen      time.Duration // worked, as it was last looked at
	active    time.Duration // when that was found to have changed
	at        time.Duration // when it was measured, since worker.start
}

// choose has somebody measured, if anybody is to be.
func (d *Watchdog) choose(k *worker, now time.Duration) {
	g := &k.weigher
	if g.measuring || now < g.next {
		return
	}
	g.next = now + memoryPeriod
	allocated, live, _ := d.heap()
	g.live = min(g.live, live)
	var most *Watch
	for _, w := range d.watches {
		if w.measureDue.Load() || w.worker != k || w.o.MemoryMax <= 0 || w.o.Held == nil {
			continue
		}
		worked := w.workedUntil(now)
		if worked != w.weight.seen {
			w.weight.seen, w.weight.active = worked, now
		}
		if now-w.weight.active < patience && w.weight.held+allocated-w.weight.allocated > w.o.MemoryMax && (now >= g.rested || live-g.live > w.o.MemoryMax/liveGrowth) &&
			(most == nil || worked-w.weight.measured > most.weight.seen-most.weight.measured) {
			most = w
		}
	}
	if most != nil {
		g.next = now + patience
		most.measureDue.Store(true)
	}
}

// workedUntil is how long the calls of a watch have taken, one under way included.
func (w *Watch) workedUntil(now time.Duration) time.Duration {
	worked := time.Duration(w.worked.Load())
	if since := w.since.Load(); since >= oldest {
		worked += max(0, now+oldest-time.Duration(since))
	}
	return worked
}

// Made is called by the owner during a call when it has made, or is about to make, a piece of LargePiece bytes or more, which it
// may hold. If it may hold too much by that, it is measured at once; and the call rests as by Pause, because to make it took long.
func (w *Watch) Made(bytes int64) {
	if most := w.o.MemoryMax; most > 0 && w.o.Held != nil {
		if w.made += bytes; w.made > max(most-w.weight.held, most/madeLeast) {
			w.measure(true)
		}
	}
	w.look()
}

// MeasureIfDue is called by the owner during a call, as Pause is; it never rests.
func (w *Watch) MeasureIfDue() {
	if w.measureDue.Load() {
		w.measure(false)
	}
}

// measure ends the call if the owner holds too much. The call is long from now on. While another owner is measured, it waits if it must.
func (w *Watch) measure(must bool) {
	if w.since.Load() < oldest {
		return
	}
	w.lengthen()
	d, g := w.watchdog, &w.worker.weigher
	d.mu.Lock()
	var tell func(string)
	if why := w.condemned; why != "" {
		if since := w.since.Load(); since >= oldest {
			tell = w.fire(since, time.Since(w.worker.start), why)
		}
		d.mu.Unlock()
		if tell != nil {
			tell(why)
		}
		return
	}
	for g.measuring {
		d.mu.Unlock()
		if !must || w.since.Load() < oldest {
			return
		}
		time.Sleep(time.Millisecond)
		d.mu.Lock()
	}
	g.measuring = true
	w.measureDue.Store(false)
	w.made = 0
	allocated, live, _ := d.heap()
	d.mu.Unlock()
	begun := time.Since(w.worker.start)
	held := w.askHeld()
	d.mu.Lock()
	now := time.Since(w.worker.start)
	g.live, g.rested, g.next = live, now+min(measureRest*(now-begun), measureRestMax), now
	w.weight.held, w.weight.allocated, w.weight.measured = held, allocated, w.workedUntil(now)
	w.weight.at = now
	if since := w.since.Load(); held > w.o.MemoryMax && since >= oldest {
		tell = w.fire(since, now, fmt.Sprintf("it holds more than %d MiB of memory", w.o.MemoryMax>>20))
	}
	d.mu.Unlock()
	if tell != nil {
		tell(w.reason)
	}
}

// askHeld asks the owner what it holds. If that panics, others are measured all the same.
func (w *Watch) askHeld() int64 {
	defer func() {
		w.watchdog.mu.Lock()
		w.worker.weigher.measuring = false
		w.watchdog.mu.Unlock()
	}()
	return w.o.Held(w.o.MemoryMax)
}

// heap returns how many bytes the process has allocated, how many the last collection found alive, and how many collections there were.
func (d *Watchdog) heap() (allocated, live, cycles int64) {
	if d.heapFake != nil {
		return d.heapFake()
	}
	s := [3]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s[:])
	return int64(s[0].Value.Uint64()), int64(s[1].Value.Uint64()), int64(s[2].Value.Uint64())
}

// allocated is the first of these alone: it takes a third of a microsecond.
func (d *Watchdog) allocated() int64 {
	if d.heapFake != nil {
		allocated, _, _ := d.heapFake()
		return allocated
	}
	s := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s[:])
	return int64(s[0].Value.Uint64())
}
