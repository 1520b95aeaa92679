package watchdog

import (
	"fmt"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// period is the time between two looks; limits are exact to that.
	period = 10 * time.Millisecond
	// idleLooks is after how many looks without a call the goroutine sleeps.
	idleLooks = 20
	// memoryAfter is how long a call must run before its memory counts: what others
	// allocate meanwhile is counted with it.
	memoryAfter = 100 * time.Millisecond
	// Grace is how long a call may go on after Interrupt.
	Grace = time.Second
)

// Options say what bounds the calls of one Watch. The functions must not block;
// Interrupt and Stuck are called by the watchdog's goroutine.
type Options struct {
	// Limit is how long a call may take; 0: for ever.
	Limit time.Duration
	// MemoryMax is by how many bytes the process may grow during a call, from the
	// first look at it on; 0: any. Of several calls under way one is blamed.
	MemoryMax int64
	// Interrupt must end the call that is under way.
	Interrupt func(reason string)
	// Stuck tells that a call goes on Grace after its Interrupt. Its End says so, too.
	Stuck func(reason string)
	// Long tells that a call has become long (see Pause): it holds up what else its
	// goroutine should do. Called by Pause, once in a call; nil does nothing.
	Long func()
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

// Dog is a watchdog. The zero value is ready; its methods may be called from any
// goroutine.
type Dog struct {
	mu      sync.Mutex
	watches []*Watch
	worker  *worker       // nil: there are no watches
	heap    int64         // of the process at the last look; 0: not known
	weighed time.Duration // then
	over    bool          // it had grown by too much then
	ending  bool          // a call that was interrupted went on then
	open    []*Watch      // of one look, to be used again

	long   atomic.Int32 // calls that are long
	others atomic.Bool  // there are several watches
}

// worker is the goroutine that looks, from the first watch to the last.
type worker struct {
	start  time.Time
	asleep atomic.Bool
	wake   chan struct{} // with room for one
	quit   chan struct{}
}

// Watch watches the calls of one owner, who makes them one at a time.
type Watch struct {
	dog    *Dog
	worker *worker
	since  atomic.Int64 // when the call under way began, ns since worker.start; or one of the values above
	pacer  pacer
	o      Options

	// Guarded by dog.mu.
	index   int           // in dog.watches; -1: released
	seen    int64         // since, as it was first looked at
	heap    int64         // of the process, then or when somebody else was blamed
	share   float64       // of the growth since it was, bytes
	counted time.Duration // so long
	firedAt time.Duration
	reason  string // written before since becomes fired
}

// Watch returns a watch, which must be released.
func (d *Dog) Watch(o Options) *Watch {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.worker == nil {
		d.heap, d.over, d.ending = 0, false, false
		d.worker = &worker{start: time.Now(), wake: make(chan struct{}, 1), quit: make(chan struct{})}
		go d.run(d.worker)
	}
	w := &Watch{dog: d, worker: d.worker, o: o, index: len(d.watches)}
	d.watches = append(d.watches, w)
	d.others.Store(len(d.watches) > 1)
	return w
}

// Release ends the watch; a call that is under way is not watched any more. The
// goroutine ends with the last.
func (w *Watch) Release() {
	d := w.dog
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
	if last == 0 {
		close(d.worker.quit)
		d.worker = nil
	}
}

// Begin starts a call.
func (w *Watch) Begin() {
	w.pacer.begin()
	w.since.Store(int64(time.Since(w.worker.start)) + oldest)
	if w.worker.asleep.Load() && w.worker.asleep.CompareAndSwap(true, false) {
		select {
		case w.worker.wake <- struct{}{}:
		default:
		}
	}
}

// End ends it, and returns how long it took if it was in time. After Stuck, somebody
// else has taken over: the caller must not go on.
func (w *Watch) End() (time.Duration, Verdict) {
	w.endPace()
	switch since := w.since.Swap(idle); since {
	case idle, fired:
		return 0, Interrupted
	case stuck:
		return 0, Stuck
	default:
		return time.Since(w.worker.start) + oldest - time.Duration(since), InTime
	}
}

// Reason says why the last call was not InTime. For the owner, after End.
func (w *Watch) Reason() string { return w.reason }

func (d *Dog) run(k *worker) {
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

// look looks at all calls, and reports whether any is under way. What it finds is told
// without the lock, because who is told may release watches.
func (d *Dog) look(k *worker) bool {
	var found []finding
	d.mu.Lock()
	now, busy, measured, open := time.Since(k.start), false, false, d.open
	for _, w := range d.watches {
		since := w.since.Load()
		if since == idle || w.worker != k {
			continue
		}
		busy, measured = true, measured || w.o.MemoryMax > 0
		if tell := w.judge(since, now); tell != nil {
			found = append(found, finding{tell, w.reason})
		}
		open = append(open, w)
	}
	if measured {
		if w := d.weigh(open, now, heapSize()); w != nil {
			found = append(found, finding{w.o.Interrupt, w.reason})
		}
	} else {
		d.heap, d.over, d.ending = 0, false, false
	}
	clear(open)
	d.open = open[:0]
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
		if now-w.firedAt >= Grace && w.since.CompareAndSwap(fired, stuck) {
			return w.o.Stuck
		}
		return nil
	}
	if w.o.Limit <= 0 || now+oldest-time.Duration(since) < w.o.Limit {
		return nil
	}
	return w.fire(since, now, fmt.Sprintf("it ran for more than %v", w.o.Limit))
}

// fire returns who is to be told that the call must end; nil if it has ended meanwhile.
func (w *Watch) fire(since int64, now time.Duration, reason string) func(reason string) {
	w.reason, w.firedAt = reason, now
	if !w.since.CompareAndSwap(since, fired) {
		return nil
	}
	return w.o.Interrupt
}

// weigh interrupts a call for the memory that the process has grown by. Whose it is,
// nobody knows: what it grew by since the last look is shared among the calls that are
// under way, by how long they were since then, and the one with the most for its time is
// blamed. For the others, growth counts from here on; so it does for all while a call
// that was interrupted goes on, and up to the look after its end.
func (d *Dog) weigh(open []*Watch, now time.Duration, heap int64) *Watch {
	last, growth, wasEnding := d.weighed, max(0, heap-d.heap), d.ending
	known := d.heap > 0 && !wasEnding
	d.heap, d.weighed, d.ending = heap, now, false
	all := time.Duration(0)
	for _, w := range open {
		began := w.since.Load()
		d.ending = d.ending || began == fired
		all += present(began, last, now)
	}
	var suspect *Watch
	over, wasOver := false, d.over
	for _, w := range open {
		began := w.since.Load()
		if began < oldest {
			continue
		}
		fresh := began != w.seen
		if fresh {
			w.seen, w.heap, w.share, w.counted = began, heap, 0, 0
		}
		if known {
			was := present(began, last, now)
			w.share += float64(growth) * float64(was) / float64(all)
			w.counted += was
		}
		over = over || w.heavy(now, heap)
		if !fresh && (suspect == nil || w.rate() > suspect.rate()) {
			suspect = w
		}
	}
	d.over = over
	ending := wasEnding || d.ending
	if !ending && (!over || !wasOver) { // whose it is may have begun just now: the next look tells
		return nil
	}
	for _, w := range open {
		if w != suspect || ending {
			w.heap = heap
		}
	}
	if ending || !suspect.heavy(now, heap) || suspect.fire(suspect.seen, now, fmt.Sprintf("memory grew by more than %d MiB while it ran", suspect.o.MemoryMax>>20)) == nil {
		return nil
	}
	d.ending = true
	return suspect
}

// present returns for how long a call has been under way since the last look, by the
// value of Watch.since; at least 1 ns.
func present(since int64, last, now time.Duration) time.Duration {
	return max(1, now-max(last, time.Duration(since-oldest)))
}

// heavy reports whether the process has grown by too much during the call.
func (w *Watch) heavy(now time.Duration, heap int64) bool {
	return w.o.MemoryMax > 0 && now+oldest-time.Duration(w.seen) >= memoryAfter && heap-w.heap > w.o.MemoryMax
}

// rate returns what the call has of the growth, in bytes per ns.
func (w *Watch) rate() float64 {
	if w.counted == 0 {
		return 0
	}
	return w.share / float64(w.counted)
}

// heapSize returns the bytes in objects, live or not yet swept.
func heapSize() int64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return int64(s[0].Value.Uint64())
}
