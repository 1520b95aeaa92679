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
	period = 10 * time.Millisecond // the time between two checks of the calls, and so the accuracy of limits
	// While no call is in progress, checks are rarer: with 10,000 owners, each check costs a third of a
	// millisecond, and some of them make a call every few milliseconds. Limits are longer than idlePeriod.
	idlePeriod = 50 * time.Millisecond
	idleLooks  = 4 // number of checks without a call after which the goroutine sleeps
	// Grace is how long a call may run on after Interrupt. Each check adds at most one period to the time
	// counted. If checks come late, the machine is busy, and the call to be ended may not have run either.
	Grace = time.Second
)

// Options limit the calls of one Watch. The functions must not block. Interrupt and Stuck are called by the
// watchdog's goroutine; Interrupt may also be called by the call itself.
type Options struct {
	Limit time.Duration // maximum duration of a call; 0 means no limit
	// MemoryMax is how many bytes the owner may hold, as measured by Held. 0 means no limit. A measurement is
	// made in the first Pause of a call, or in End if the call has no Pause. Not every call is measured.
	MemoryMax int64
	// Held estimates how many bytes the owner holds. It may stop counting beyond limit. It is called during a
	// call of the owner, for one owner at a time. If it is nil, memory is not limited.
	Held func(limit int64) int64
	// Interrupt must end the call in progress.
	Interrupt func(reason string)
	// Stuck reports that a call is still running Grace after its Interrupt. End then returns the Verdict
	// Stuck.
	Stuck func(reason string)
	// Long reports that a call delays other work of its goroutine. Pause calls it, at most once per call. It
	// may be nil.
	Long func()
	// Slow reports that a call is still running SlowAfter its start. Pause calls it, at most once per call.
	// It may be nil.
	Slow func()
	// Ask makes the owner begin a call soon, so that it can be measured or ended. The watchdog's goroutine
	// calls it. If it is nil, measuring or ending waits for the owner's next call.
	Ask func()
}

// Verdict is the outcome of a call.
type Verdict int64

// The verdicts.
const (
	InTime Verdict = iota + 1
	Interrupted
	Stuck
)

// Special values of Watch.since. Other values are the start time of a call.
const (
	idle   = 0
	fired  = -1
	stuck  = -2
	oldest = 1 // minimum value of since for a call in progress
)

// Watchdog limits the duration of calls. The zero value is ready for use. Its methods are safe for concurrent
// use.
type Watchdog struct {
	// Grace replaces the constant of the same name in tests, where the machine may be too busy for a call to
	// end in time. Set it before the first Watch.
	Grace time.Duration

	mu      sync.Mutex
	watches []*Watch
	worker  *worker // nil if there are no watches

	long   atomic.Int32 // number of long calls
	others atomic.Bool  // there is more than one watch

	process   *Process // guarded by mu; nil if the excess is not checked
	abandoned []*Watch // guarded by mu; released watches whose call is still running

	heapFake    func() (allocated, live, cycles int64) // replaced by tests
	collectFake func()
}

// worker is the goroutine that checks the calls. It runs from the first watch to the last.
type worker struct {
	start  time.Time
	looked time.Duration // time of the last check, since start
	onTime time.Duration // sum of the times between checks, where each counts at most one period
	asleep atomic.Bool
	ledger ledger        // on a cache line near the fields that each call reads
	wake   chan struct{} // capacity 1
	quit   chan struct{}

	weigher weigher // guarded by Watchdog.mu
	excess  excess  // guarded by Watchdog.mu
}

// Watch watches the calls of one owner, which makes them one at a time.
type Watch struct {
	watchdog   *Watchdog
	worker     *worker
	since      atomic.Int64 // start of the call in progress, in ns since worker.start plus oldest; or a special value
	worked     atomic.Int64 // total duration of all calls that have ended, in ns
	measureDue atomic.Bool  // the owner must measure what it holds
	pacer      pacer
	made       int64 // bytes in large pieces since the last measurement; used only by the owner
	page       page  // see page
	o          Options

	// Guarded by watchdog.mu.
	index     int           // index in watchdog.watches; -1 if released
	weight    weight        // only the owner writes held, and it reads held without the lock
	firedAt   time.Duration // worker.onTime when the call was interrupted
	endBy     time.Duration // calls in progress after this time are interrupted, whatever Options.Limit is; 0 if not set
	endWhy    string
	condemned string // why the next call must be interrupted; "" if it need not
	reason    string // written before since becomes fired
}

// Watch returns a new watch. It must be released.
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

// Release removes the watch. A call in progress is no longer watched. The goroutine ends with the last watch.
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

// endWorker ends the goroutine if there is nothing to watch. The caller must hold Watchdog.mu.
func (d *Watchdog) endWorker() {
	if d.worker != nil && len(d.watches) == 0 && len(d.abandoned) == 0 {
		close(d.worker.quit)
		d.worker = nil
	}
}

// returned removes an abandoned call that has returned after all.
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

// End ends the call. If the call was in time, End returns its duration. After the verdict Stuck, another
// goroutine has taken over, and the caller must not continue.
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

// Reason returns why the last call was not InTime. Only the owner may call it, after End.
func (w *Watch) Reason() string { return w.reason }

// EndWithin makes the watchdog interrupt the current call, and each later one, once d has passed. It is safe
// for concurrent use.
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
			if looks > 0 {
				ticker.Reset(period)
			}
			looks = 0
		} else if looks++; looks == 1 {
			ticker.Reset(idlePeriod)
		} else if looks >= idleLooks {
			k.asleep.Store(true)
			if !d.look(k) { // otherwise a call began before it could see asleep
				ticker.Stop()
				select {
				case <-k.wake:
				case <-k.quit:
					return
				}
			}
			ticker.Reset(period)
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

// look checks all calls and reports whether any is in progress. It calls the functions it finds without the
// lock, because they may release watches.
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

// finding is a function to call and the reason to pass to it.
type finding struct {
	tell   func(reason string)
	reason string
}

// judge returns the function to call for a call in progress, or nil.
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

// fire marks the call as interrupted and returns Options.Interrupt. It returns nil if the call has ended
// meanwhile.
func (w *Watch) fire(since int64, now time.Duration, reason string) func(reason string) {
	w.reason, w.firedAt = reason, w.worker.onTime
	if !w.since.CompareAndSwap(since, fired) {
		return nil
	}
	return w.o.Interrupt
}
