package watchdog

import (
	"fmt"
	"runtime/metrics"
	"time"
)

// Measuring an owner that holds hundreds of MiB takes up to a second. So an owner is measured only if it may
// hold too much: if its last measurement plus everything that the process has allocated since exceeds
// MemoryMax. If several owners qualify, the one whose calls have worked longest since their measurement is
// chosen. An owner is also measured if it has created so many large pieces (Made) that it may hold too much.
const (
	memoryPeriod = 50 * time.Millisecond // the time between two choices of an owner to measure
	// patience limits the choice to watches that have made a call within this time. It is also how long the
	// weigher waits for the next call of the chosen watch before it chooses again.
	patience = time.Second
	// measureRest makes measurements take at most 1 % of a core: after a measurement there is a pause of
	// measureRest times its duration. The pause is at most measureRestMax, because on a busy machine a
	// measurement takes many times as long as its work.
	measureRest    = 100
	measureRestMax = 5 * time.Second
	// liveGrowth shortens the pause: an owner is measured nevertheless if the live objects of the process
	// have grown by MemoryMax/liveGrowth.
	liveGrowth = 4
	madeLeast  = 4 // large pieces lead to a measurement only from MemoryMax/madeLeast bytes on
	// LargePiece is the size in bytes from which a piece must be reported to Made.
	LargePiece = 64 << 10
)

// weigher chooses which of a worker's watches to measure. It is guarded by Watchdog.mu.
type weigher struct {
	measuring bool          // a measurement is running
	next      time.Duration // when the next choice is made, since worker.start
	rested    time.Duration // end of the pause after the last measurement
	live      int64         // minimum of the live bytes since the last measurement
}

// weight is a weigher's data about one watch. It is guarded by Watchdog.mu.
type weight struct {
	held      int64         // result of the last measurement, in bytes
	allocated int64         // bytes that the process had allocated at that measurement, or when the watch was created
	measured  time.Duration // working time of the watch's calls at that measurement
	seen      time.Duration // working time when choose last checked it
	active    time.Duration // when choose last found that the working time had changed
	at        time.Duration // when the last measurement was made, since worker.start
}

// choose selects an owner to measure, if one needs it.
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

// workedUntil returns the total duration of a watch's calls, including the one in progress.
func (w *Watch) workedUntil(now time.Duration) time.Duration {
	worked := time.Duration(w.worked.Load())
	if since := w.since.Load(); since >= oldest {
		worked += max(0, now+oldest-time.Duration(since))
	}
	return worked
}

// Made is called by the owner during a call when it creates a piece of at least LargePiece bytes. If the
// owner may now hold too much, Made measures it at once. Like Pause, Made may block, because creating the
// piece took time.
func (w *Watch) Made(bytes int64) {
	if most := w.o.MemoryMax; most > 0 && w.o.Held != nil {
		if w.made += bytes; w.made > max(most-w.weight.held, most/madeLeast) {
			w.measure(true)
		}
	}
	w.look()
}

// MeasureIfDue is called by the owner during a call, like Pause, but it never rests.
func (w *Watch) MeasureIfDue() {
	if w.measureDue.Load() {
		w.measure(false)
	}
}

// measure measures the owner and interrupts the call if the owner holds too much. The call counts as long
// from then on. If another owner is being measured, measure waits if must is set, and otherwise returns.
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

// askHeld calls Options.Held. If that panics, other owners can still be measured.
func (w *Watch) askHeld() int64 {
	defer func() {
		w.watchdog.mu.Lock()
		w.worker.weigher.measuring = false
		w.watchdog.mu.Unlock()
	}()
	return w.o.Held(w.o.MemoryMax)
}

// heap returns the bytes that the process has allocated so far, the bytes that the last garbage collection
// found alive, and the number of collections.
func (d *Watchdog) heap() (allocated, live, cycles int64) {
	if d.heapFake != nil {
		return d.heapFake()
	}
	s := [3]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s[:])
	return int64(s[0].Value.Uint64()), int64(s[1].Value.Uint64()), int64(s[2].Value.Uint64())
}

// allocated returns only the first result of heap, which takes a third of a microsecond.
func (d *Watchdog) allocated() int64 {
	if d.heapFake != nil {
		allocated, _, _ := d.heapFake()
		return allocated
	}
	s := [1]metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s[:])
	return int64(s[0].Value.Uint64())
}
