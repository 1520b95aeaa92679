package watchdog

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Measurements see only the part of an owner's memory that can be reached from it. So owners may hold more
// memory in total than the sum of all measurements. The difference is the excess. Each garbage collection
// tells how much the process really holds. While the excess is large, a ledger records how much each owner
// allocates, and the growth of the process between two collections is attributed to owners in proportion. If
// the excess exceeds its limit, the owner with the largest attributed growth is measured again. If the
// measurement does not explain the growth, that owner is ended. If the next collections show that this was
// not enough, the next owner follows.
const (
	excessPeriod = time.Second // the time between two checks of the excess
	// The limit of the excess is excessLimits times the memory limit of one owner, or 1/excessPart of the
	// memory of the process if that is less.
	excessLimits, excessPart = 4, 4
	// The ledger is switched on when the excess exceeds 1/accountPart of its limit, and off below half of
	// that
	accountPart = 4
	// An owner is ended for the excess only if growth of at least 1/suspectPart of the limit is attributed to
	// it. Smaller growth may be a coincidence, because the process also allocates outside of calls. Once the
	// excess is twice its limit, 1/urgentSuspectPart is enough.
	suspectPart, urgentSuspectPart = 4, 16
	heldLeast                      = 128 << 10 // assumed size in bytes of an owner that was not measured
	// collectEvery is the minimum time between two collections made to determine the excess. settleTime is
	// how long after the end of an owner its memory may still be in use.
	collectEvery, settleTime = 5 * time.Second, 2 * time.Second
	// The situation is urgent if the process uses more than urgentPart quarters of its memory.
	urgentPart = 3
)

// Process describes the process whose excess a Watchdog checks. The functions must not block.
type Process struct {
	Memory int64 // how many bytes the process may use; 0 if unknown
	// Own estimates how many bytes of the Go heap do not belong to owners. The watchdog's goroutine calls it.
	Own func() int64
	// Outgrown reports that a call that cannot be ended takes more and more memory. It is called once. When
	// most of Memory is used, it is called once more, with urgent set.
	Outgrown func(reason string, urgent bool)
}

// Relieve makes the Watchdog end owners while the process holds far more memory than is measured. It stops
// when end is called. It is safe for concurrent use. A later call of Relieve replaces the earlier one.
func (d *Watchdog) Relieve(p Process) (end func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	of := &p
	d.process = of
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.process == of {
			d.process, d.abandoned = nil, nil
			d.endWorker()
		}
	}
}

// excess is a worker's state of the excess. It is guarded by Watchdog.mu.
type excess struct {
	next      time.Duration // when the next check is due
	limit     int64         // the largest memory limit of any owner so far
	cycles    int64         // number of garbage collections at the last settle
	settled   time.Duration // when the last settle was
	rest      int64         // how many bytes owners held at most at the last settle
	allocated int64         // bytes that the process had allocated at the last settle
	collect   time.Duration // earliest time of the next collection
	after     time.Duration // when the end of the last owner should have taken effect
	need      int64         // no owner is ended before this many collections; 0 if not determined yet
	told      bool          // Process.Outgrown was called
	urgent    bool          // Process.Outgrown was called with urgent set
	collected chan struct{} // closed when the running collection is over; nil before the first one
}

// ledger records what owners allocate. It divides the allocations of the process equally among the calls in
// progress.
type ledger struct {
	on atomic.Bool

	mu     sync.Mutex
	last   int64 // bytes that the process had allocated at the last call of divide
	each   int64 // bytes attributed to a call that was in progress all the time
	calls  int64 // number of calls in progress
	nobody int64 // bytes allocated while no call was in progress
}

// page is the part of the ledger for one Watch. It is guarded by ledger.mu, except for grown and before,
// which are guarded by Watchdog.mu.
type page struct {
	open   bool  // a call is in progress and counted in ledger.calls
	from   int64 // value of ledger.each at the start of the call
	own    int64 // bytes attributed to the owner since the last collection
	grown  int64 // growth of the process, in bytes, that is attributed to the owner
	before int64 // weight.held when the ledger was switched on
}

func (l *ledger) divide(allocated int64) {
	if l.calls > 0 {
		l.each += (allocated - l.last) / l.calls
	} else {
		l.nobody += allocated - l.last
	}
	l.last = allocated
}

func (l *ledger) begin(d *Watchdog, p *page) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.on.Load() || p.open {
		return
	}
	l.divide(d.allocated())
	l.calls++
	p.open, p.from = true, l.each
}

func (l *ledger) end(d *Watchdog, p *page) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !p.open {
		return
	}
	l.divide(d.allocated())
	l.calls--
	p.open = false
	p.own += l.each - p.from
}

// open and shut switch the ledger on and off. The caller must hold Watchdog.mu.
func (d *Watchdog) open(l *ledger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on.Store(true) // before since is read below: a call that begins later sees that the ledger is on
	l.last, l.each, l.calls, l.nobody = d.allocated(), 0, 0, 0
	for _, w := range d.everybody() {
		w.page = page{before: w.weight.held}
		if w.since.Load() != idle {
			w.page.open = true
			l.calls++
		}
	}
}

func (d *Watchdog) shut(l *ledger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on.Store(false)
	for _, w := range d.everybody() {
		w.page = page{}
	}
}

func (d *Watchdog) everybody() []*Watch { return slices.Concat(d.watches, d.abandoned) }

// settle attributes the growth of the process since the previous collection to the owners. If the process has
// shrunk, it reduces their growth in proportion.
func (d *Watchdog) settle(k *worker, rest int64) {
	l, e := &k.ledger, &k.excess
	l.mu.Lock()
	defer l.mu.Unlock()
	l.divide(d.allocated())
	total := l.nobody
	all := d.everybody()
	for _, w := range all {
		if p := &w.page; p.open {
			p.own, p.from = p.own+l.each-p.from, l.each
		}
		total += w.page.own
	}
	grown := rest - e.rest
	for _, w := range all {
		switch p := &w.page; {
		case grown > 0 && total > 0:
			p.grown += int64(float64(grown) * float64(p.own) / float64(total))
		case grown < 0 && e.rest > 0:
			p.grown = int64(float64(p.grown) * float64(rest) / float64(e.rest))
		}
		w.page.own = 0
	}
	l.nobody = 0
}

func excessMax(limit, memory int64) int64 {
	most := excessLimits * limit
	if memory > 0 {
		most = min(most, memory/excessPart)
	}
	return most
}

// suspect is an owner that may have caused the excess.
type suspect struct {
	grown     int64 // attributed growth in bytes that no measurement explains
	measured  bool  // it was measured after the last collection
	abandoned bool  // its call cannot be ended
}

// action is what to do about the excess.
type action int

const (
	bear action = iota + 1
	measure
	end
	outgrown
)

// relief decides what to do about an excess of bytes if most is its limit. at is the index of the suspect.
// relief prefers an owner to a call that cannot be ended, unless the growth of the owner is less than half
// that of the call. The reason is that such a call is always in progress, so that allocations of others are
// attributed to it as well.
func relief(bytes, most int64, all []suspect) (do action, at int) {
	if bytes <= most {
		return bear, -1
	}
	least := most / suspectPart
	if bytes > 2*most {
		least = most / urgentSuspectPart
	}
	owner, call := -1, -1
	for i, s := range all {
		of := &owner
		if s.abandoned {
			of = &call
		}
		if s.grown >= least && (*of < 0 || s.grown > all[*of].grown) {
			*of = i
		}
	}
	switch {
	case call >= 0 && (owner < 0 || all[owner].grown < all[call].grown/2):
		return outgrown, call
	case owner < 0:
		return bear, -1
	case !all[owner].measured:
		return measure, owner
	}
	return end, owner
}

// relieve checks the excess once per excessPeriod. It returns the functions to call.
func (d *Watchdog) relieve(k *worker, now time.Duration) (found []finding) {
	e, p := &k.excess, d.process
	if p == nil || now < e.next {
		return nil
	}
	e.next = now + excessPeriod
	held := int64(0)
	for _, w := range d.watches {
		e.limit = max(e.limit, w.o.MemoryMax)
		held += max(w.weight.held, heldLeast)
	}
	most := excessMax(e.limit, p.Memory)
	if most == 0 { // no owner has a limit
		return nil
	}
	allocated, live, cycles := d.heap()
	rest := max(0, live-p.Own())
	bytes, collected := rest-held, cycles != e.cycles
	if collected {
		if k.ledger.on.Load() {
			d.settle(k, rest)
		}
		e.cycles, e.settled, e.rest, e.allocated = cycles, now, rest, allocated
	}
	switch on := k.ledger.on.Load(); {
	case !on && bytes > most/accountPart:
		d.open(&k.ledger)
	case on && bytes < most/accountPart/2:
		d.shut(&k.ledger)
		e.after, e.need = 0, 0
	}
	if !k.ledger.on.Load() {
		return nil
	}
	if bytes > most || allocated-e.allocated > most/accountPart {
		d.collectSoon(e, now)
	}
	if now < e.after {
		return nil
	}
	if e.need == 0 && e.after > 0 {
		e.need, e.collect = cycles+2, 0 // a collection may already have been running
		d.collectSoon(e, now)
	}
	if cycles < e.need {
		return nil
	}
	return d.act(k, now, bytes, most, live)
}

// act asks relief what to do about the excess, and does it.
func (d *Watchdog) act(k *worker, now time.Duration, bytes, most, live int64) (found []finding) {
	e, p := &k.excess, d.process
	all := d.everybody()
	var suspects []suspect
	for _, w := range all {
		suspects = append(suspects, suspect{w.page.grown - max(0, w.weight.held-w.page.before), w.weight.at > e.settled || w.o.Held == nil, w.index < 0})
	}
	do, at := relief(bytes, most, suspects)
	switch do {
	case measure:
		if w := all[at]; !w.measureDue.Swap(true) && w.o.Ask != nil {
			found = append(found, finding{func(string) { w.o.Ask() }, ""})
		}
	case end:
		e.after, e.need = now+settleTime, 0
		found = all[at].condemn(now, fmt.Sprintf("the host holds %d MiB more than its scripts are seen to hold, and this one allocated most of that: its memory is put at %d MiB, of %d (script.memoryMax)",
			bytes>>20, (all[at].weight.held+suspects[at].grown)>>20, all[at].o.MemoryMax>>20))
	case outgrown:
		urgent := p.Memory > 0 && live > p.Memory/4*urgentPart
		if p.Outgrown != nil && (!e.told || urgent && !e.urgent) {
			e.told, e.urgent = true, urgent
			found = append(found, finding{func(reason string) { p.Outgrown(reason, urgent) },
				fmt.Sprintf("a call into a script that cannot be ended takes more and more memory: %d MiB", suspects[at].grown>>20)})
		}
	}
	return found
}

// condemn ends the owner: it interrupts the call in progress, or asks the owner to make a call.
func (w *Watch) condemn(now time.Duration, reason string) []finding {
	w.condemned = reason
	if since := w.since.Load(); since >= oldest {
		if tell := w.fire(since, now, reason); tell != nil {
			return []finding{{tell, reason}}
		}
	}
	if w.measureDue.Store(true); w.o.Ask == nil {
		return nil
	}
	return []finding{{func(string) { w.o.Ask() }, ""}}
}

// collectSoon starts a garbage collection, unless one is running or was made less than collectEvery ago.
func (d *Watchdog) collectSoon(e *excess, now time.Duration) {
	if now < e.collect {
		return
	}
	if e.collected != nil {
		select {
		case <-e.collected:
		default:
			return
		}
	}
	done := make(chan struct{})
	e.collect, e.collected = now+collectEvery, done
	go func() {
		defer close(done)
		d.collect()
	}()
}

func (d *Watchdog) collect() {
	if d.collectFake != nil {
		d.collectFake()
		return
	}
	runtime.GC()
}
