package watchdog

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	period    = 10 * time.Millisecond // the time between two looks; limits are exact to that
	idleLooks = 20                    // after how many looks without a call the goroutine sleeps
	// Grace is how long a call may go on after Interrupt. It counts at most one period for each look: if
	// those are late, the machine is busy, and the call that is to end may not have run either.
	Grace = time.Second
)

// Options bound the calls of one Watch. The functions must not block. The watchdog's goroutine calls Interrupt and Stuck, a call Interrupt.
type Options struct {
	Limit time.Duration // how long a call may take; 0: for ever
	// MemoryMax is how many bytes the owner may hold, by Held; 0: any. It is measured in the first Pause of some calls, or in their End.
	MemoryMax int64
	// Held estimates how many bytes the owner holds; it may stop counting beyond limit. Called in a call, one at a time. Nil: any.
	Held func(limit int64) int64
	// Interrupt must end the call that is under way.
	Interrupt func(reason string)
	// Stuck tells that a call goes on Grace after its Interrupt. Its End says so, too.
	Stuck func(reason string)
	// Long tells that a call holds up what else its goroutine should do. Called by Pause, once in a call; nil does nothing.
	Long func()
	// Slow tells that a call still runs SlowAfter its start. Called by Pause, once in a call; nil does nothing.
	Slow func()
	// Ask has the owner make a call soon, so that it can be measured, or ended. The watchdog's goroutine calls it; nil: that waits.
	Ask func()
}

// Verdict is what became of a call.
type Verdict int64

// Verdicts.
const (
	InTime Verdict = iota + 1
	Interrupted
	Stuck
)

// Values of Watch.since besides the start of a call.
const (
	idle   = 0
	fired  = -1
	stuck  = -2
	oldest = 1 // a start is at least that
)

// Watchdog limits how long calls take. The zero value is ready; its methods may be called from any goroutine.
type Watchdog struct {
	// Grace replaces the constant of that name in tests, whose machine may be too busy for a call to end in time. Set it before the first Watch.
	Grace time.Duration

	mu      sync.Mutex
	watches []*Watch
	worker  *worker // nil: there are no watches

	long   atomic.Int32 // calls that are long
	others atomic.Bool  // there are several watches

	process   *Process // guarded by mu; nil: the excess does not matter
	abandoned []*Watch // guarded by mu: released ones whose call goes on

	heapFake    func() (allocated, live, cycles int64) // of a test
	collectFake func()
}

// worker is the goroutine that looks, from the first watch to the last.
type worker struct {
	start  time.Time
	looked time.Duration // when it did last, since start
	onTime time.Duration // the time between its looks, of each at most a period
	asleep atomic.Bool
	ledger ledger        // beside what each call reads
	wake   chan struct{} // with room for one
	quit   chan struct{}

	weigher weigher // guarded by Watchdog.mu
	excess  excess  // guarded by Watchdog.mu
}

// Watch watches the calls of one owner, who makes them one at a time.
type Watch struct {
	watchdog   *Watchdog
	worker     *worker
	since      atomic.Int64 // when the call under way began, ns since worker.start; or one of the values above
	worked     atomic.Int64 // how long all calls that have ended took, ns
	measureDue atomic.Bool  // the owner is to measure what it holds
	pacer      pacer
	made       int64 // bytes in large pieces since the owner was measured; the owner's
	page       page  // see there
	o          Options

	// Guarded by watchdog.mu.
	index     int           // in watchdog.watches; -1: released
	weight    weight        // the owner, who alone writes held, reads it without
	firedAt   time.Duration // worker.onTime, then
	endBy     time.Duration // after which a call under way is interrupted, whatever Options.Limit; 0: none
	endWhy    string
	condemned string // why the next call is interrupted; empty: it is not
	reason    string // written before since becomes fired
}

// Watch returns a watch, which must be released.
func (d *Watchdog) Watch(o Options) *Watch {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.worker == nil {
		d.worker = &worker{start: time.Now(), wake: make(chan struct{}, 1), quit: make(chan struct{})}
		go d.run(d.worker)
	}
	w := &Watch{watchdog: d, worker: d.worker, o: o, index: len(d.watches)}
	w.weight.allocated, _, _ = d.heap()
	d.watches = append(d.watches, w)
	d.others.Store(len(d.watches) > 1)
	return w
}

// Release ends the watch; a call that is under way is not watched any more. The goroutine ends with the last.
func (w *Watch) Release() {
	d := w.watchdog
	d.mu.Lock()
	defer d.mu.Unlock()
	if w.index < 0 {
		return
	}
	last := len(d.watches) - 1
	d.watches[w.index] = d.watches[last]
	d.watches[w.index].index = w.index
	d.watches[last] = nil
	d.watches = d.watches[:last]
	w.index = -1
	d.others.Store(last > 1)
	if d.process != nil && w.since.Load() == stuck {
		d.abandoned = append(d.abandoned, w)
	}
	d.endWorker()
}

// endWorker ends the goroutine if there is nothing to look at. Guarded by Watchdog.mu.
func (d *Watchdog) endWorker() {
	if d.worker != nil && len(d.watches) == 0 && len(d.abandoned) == 0 {
		close(d.worker.quit)
		d.worker = nil
	}
}

// returned forgets a call that was given up and has come to an end.
func (d *Watchdog) returned(w *Watch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at := slices.Index(d.abandoned, w); at >= 0 {
		d.abandoned = slices.Delete(d.abandoned, at, at+1)
		d.endWorker()
	}
}

// Begin starts a call.
func (w *Watch) Begin() {
	w.pacer.begin(w.measureDue.Load())
	w.since.Store(int64(time.Since(w.worker.start)) + oldest)
	if w.worker.ledger.on.Load() {
		w.worker.ledger.begin(w.watchdog, &w.page)
	}
	if w.worker.asleep.Load() && w.worker.asleep.CompareAndSwap(true, false) {
		select {
		case w.worker.wake <- struct{}{}:
		default:
		}
	}
}

// End ends it, and returns how long it took if it was in time. After Stuck, somebody else has taken over: the caller must not go on.
func (w *Watch) End() (time.Duration, Verdict) {
	if w.pacer.measure && w.measureDue.Load() { // the call has not paused
		w.measure(false)
	}
	w.endPace()
	since := w.since.Swap(idle)
	if w.worker.ledger.on.Load() {
		w.worker.ledger.end(w.watchdog, &w.page)
	}
	switch since {
	case idle, fired:
		return 0, Interrupted
	case stuck:
		w.watchdog.returned(w)
		return 0, Stuck
	default:
		took := time.Since(w.worker.start) + oldest - time.Duration(since)
		w.worked.Store(w.worked.Load() + int64(took))
		return took, InTime
	}
}

// Reason says why the last call was not InTime. For the owner, after End.
func (w *Watch) Reason() string { return w.reason }

// EndWithin has a call interrupted that is still under way after a while, and each later one. Any goroutine may call it.
func (w *Watch) EndWithin(d time.Duration, reason string) {
	w.watchdog.mu.Lock()
	defer w.watchdog.mu.Unlock()
	if w.endBy == 0 {
		w.endBy, w.endWhy = time.Since(w.worker.start)+d, reason
	}
}

func (d *Watchdog) run(k *worker) {
	ticker := time.NewTicker(period)
	defer ticker.Stop()
	looks := 0
	for {
		if d.look(k) {
			looks = 0
		} else if looks++; looks >= idleLooks {
			k.asleep.Store(true)
			if !d.look(k) { // else a call began before it could see that
				ticker.Stop()
				select {
				case <-k.wake:
				case <-k.quit:
					return
				}
				ticker.Reset(period)
			}
			k.asleep.Store(false)
			looks = 0
		}
		select {
		case <-ticker.C:
		case <-k.quit:
			return
		}
	}
}

// look looks at all calls, and reports whether any is under way. It tells what it finds without the lock: who is told may release watches.
func (d *Watchdog) look(k *worker) bool {
	var found []finding
	d.mu.Lock()
	now, busy := time.Since(k.start), false
	k.onTime += min(now-k.looked, period)
	k.looked = now
	for _, w := range d.watches {
		since := w.since.Load()
		if since == idle || w.worker != k {
			continue
		}
		busy = true
		if tell := w.judge(since, now); tell != nil {
			found = append(found, finding{tell, w.reason})
		}
	}
	d.choose(k, now)
	found = append(found, d.relieve(k, now)...)
	busy = busy || len(d.abandoned) > 0
	d.mu.Unlock()
	for _, f := range found {
		f.tell(f.reason)
	}
	return busy
}

// finding is somebody to be told why.
type finding struct {
	tell   func(reason string)
	reason string
}

// judge returns who is to be told of a call, nil if nobody.
func (w *Watch) judge(since int64, now time.Duration) (tell func(reason string)) {
	if since == stuck {
		return nil
	}
	if since == fired {
		if w.worker.onTime-w.firedAt >= cmp.Or(w.watchdog.Grace, Grace) && w.since.CompareAndSwap(fired, stuck) {
			return w.o.Stuck
		}
		return nil
	}
	if w.endBy > 0 && now >= w.endBy {
		return w.fire(since, now, w.endWhy)
	}
	if w.o.Limit <= 0 || now+oldest-time.Duration(since) < w.o.Limit {
		return nil
	}
	return w.fire(since, now, fmt.Sprintf("it ran for more than %v", w.o.Limit))
}

// fire returns who is to be told that the call must end; nil if it has ended meanwhile.
func (w *Watch) fire(since int64, now time.Duration, reason string) func(reason string) {
	w.reason, w.firedAt = reason, w.worker.onTime
	if !w.since.CompareAndSwap(since, fired) {
		return nil
	}
	return w.o.Interrupt
}
