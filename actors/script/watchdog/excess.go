package watchdog

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// What an owner holds is measured by what can be seen of it. So all that owners hold may be more than the sum of all
// measurements: the excess. Each collection of garbage says what the process really holds. While much of that is in excess, it is
// accounted for who allocates how much, and what has grown from one collection to the next is put down to owners by
// their part in that. If the excess becomes far too large, the owner to whom most of it is put down is measured once more,
// and ends if that does not explain it; then another one, if the next collections show that this was not enough.
const (
	excessPeriod = time.Second // the time between two looks at it
	// excessLimits times the memory limit of one owner, or one in excessPart of the memory of the process, may be in excess.
	excessLimits, excessPart = 4, 4
	accountPart              = 4 // the part of that from which on it is accounted for who allocates
	// suspectPart is the part of it that must be put down to an owner that ends for it: less may be by chance, because the process
	// allocates for others beside calls. Once the excess is twice as large as it may be, urgentSuspectPart is enough.
	suspectPart, urgentSuspectPart = 4, 16
	heldLeast                      = 128 << 10 // what an owner holds that was not measured, about
	// collectEvery is the time between two collections to see the excess, settleTime until the memory of an ended owner is garbage.
	collectEvery, settleTime = 5 * time.Second, 2 * time.Second
	// urgentPart is the part of the memory of the process, in quarters, from which on there is no time to lose.
	urgentPart = 3
)

// Process is the process whose excess a Watchdog looks at. The functions must not block.
type Process struct {
	Memory int64 // how many bytes it may use; 0: nobody knows
	// Own estimates how many bytes of the Go heap it holds beside what owners do. Called by the watchdog's goroutine.
	Own func() int64
	// Outgrown tells that memory grows by a call that cannot be ended: once, and once more when most of Memory is used up (urgent).
	Outgrown func(reason string, urgent bool)
}

// Relieve has owners end while their process holds far more than is measured, until end. Any goroutine may call it; the last counts.
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

// excess is what a worker knows of it. Guarded by Watchdog.mu.
type excess struct {
	next      time.Duration // look
	limit     int64         // the largest memory limit of an owner that there was
	cycles    int64         // collections, when it was settled last
	settled   time.Duration // when that was
	rest      int64         // what owners held at most, then
	allocated int64         // bytes that the process had allocated then
	collect   time.Duration // when a collection may be made again
	after     time.Duration // when the end of an owner has had time to show
	need      int64         // until so many collections were made, nobody ends; 0: they are to be made yet
	told      bool          // Process.Outgrown was
	urgent    bool          // as well
	collected chan struct{} // closed when the collection under way is over; nil: none is
}

// ledger has what owners allocate: what the process does is divided among the calls under way.
type ledger struct {
	on atomic.Bool

	mu     sync.Mutex
	last   int64 // bytes that the process had allocated
	each   int64 // bytes for each call that has been under way all the time
	calls  int64 // under way
	nobody int64 // bytes while there was none
}

// page is what the ledger has of a Watch. It is guarded by ledger.mu, grown and before by Watchdog.mu.
type page struct {
	open   bool  // a call is under way, and counted
	from   int64 // ledger.each at its begin
	own    int64 // bytes since the last collection
	grown  int64 // bytes by which the process has grown and that are put down to the owner
	before int64 // weight.held when the account was opened
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

// open and shut begin and end the account of all. Guarded by Watchdog.mu.
func (d *Watchdog) open(l *ledger) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on.Store(true) // before the look at who is in a call: one that begins later sees it
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

// settle puts down to owners by what all have grown from one collection to another; it takes away if they have shrunk.
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

// suspect is somebody who may have made the excess.
type suspect struct {
	grown     int64 // bytes put down to it that no measurement explains
	measured  bool  // since the last collection
	abandoned bool  // it is in a call that cannot be ended
}

// action is what is to be done about the excess, with a suspect.
type action int

const (
	bear action = iota + 1
	measure
	end
	outgrown
)

// relief decides about an excess of which most may be. An owner comes before a call that cannot be ended, unless less than half as much
// is put down to it: that call is under way all the time, and has a part in what others do.
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

// relieve looks at the excess now and then, and returns who is to be told of what.
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
		e.need, e.collect = cycles+2, 0 // one may have been under way
		d.collectSoon(e, now)
	}
	if cycles < e.need {
		return nil
	}
	return d.act(k, now, bytes, most, live)
}

// act does something about the excess.
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

// condemn ends the owner: in the call that is under way, or in one that it is asked to make.
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

// collectSoon has garbage collected, unless that was done a short while ago.
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
