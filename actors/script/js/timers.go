package js

import (
	"cmp"
	_ "embed" // timers.js
	"slices"
	"time"

	"github.com/dop251/goja"

	"troupe/actors/script"
)

//go:embed timers.js
var timersSource string

var timersProgram = embedded("timers", timersSource)

// timers are the timers of one runtime. They fire in the order of realtime.md 18.2. A single timer of the
// game session fires for the one due first.
type timers struct {
	h     *Handler
	queue []*timer // sorted by later: the first timer due is the last element
	// start is the time from which the delays of all timers armed in one call are measured. As in Node.js,
	// this makes them fire in the order of their delays. It is zero if the call has armed no timer.
	start time.Time
	byID  map[int64]*timer
	last  int64
	armed time.Time    // when alarm fires; zero if it is not set
	alarm script.Timer // for the timer that is due first; nil until it is used

	immediates []goja.Value // Immediate objects of timers.js
	turn       script.Timer // for immediates; nil until it is used
	turnComes  bool         // turn is set
	waiting    int          // number of immediates that have neither run nor been cleared

	at                place        // where the timer that is firing was set
	js                *goja.Object // the functions of timers.js; nil until they are used
	fireOne, fireSoon native
}

type timer struct {
	id     int64
	due    time.Time
	every  time.Duration // interval; 0 for a timer that fires once
	object goja.Value    // the Timeout of timers.js
	at     place         // where the script set the timer
}

var timerGlobals = []string{"setTimeout", "setInterval", "setImmediate", "clearTimeout", "clearInterval", "clearImmediate"}

// load returns the functions of timers.js, and runs the file on the first call. Built-in functions that the
// script calls may call load.
func (t *timers) load() *goja.Object {
	if t.js == nil {
		js := returned(t.h.create(timersProgram(), t.h.host))
		t.js, t.fireOne, t.fireSoon = js, function(js, "fire"), function(js, "fireImmediate")
	}
	return t.js
}

// room throws a RangeError if too many timers and immediates are pending.
func (t *timers) room() {
	if limit := t.h.program.limits.TimersMax; limit > 0 && len(t.byID)+t.waiting >= limit {
		panic(t.h.rangeError("more than %d timers wait", limit))
	}
}

// arm implements host.arm(object, ms, repeat).
func (h *Handler) arm(c goja.FunctionCall) goja.Value {
	h.timers.room()
	d := time.Duration(c.Argument(1).ToInteger()) * time.Millisecond
	h.timers.last++
	if h.timers.start.IsZero() {
		h.timers.start = time.Now()
	}
	n := &timer{id: h.timers.last, due: h.timers.start.Add(d), object: c.Argument(0)}
	n.at.file, n.at.row = firstFrame(h.vm.CaptureCallStack(8, nil))
	if c.Argument(2).ToBoolean() {
		n.every = d
	}
	if h.timers.byID == nil {
		h.timers.byID = map[int64]*timer{}
	}
	h.timers.byID[n.id] = n
	h.timers.add(n)
	h.timers.schedule()
	return h.vm.ToValue(n.id)
}

func (h *Handler) armed(c goja.FunctionCall) goja.Value {
	return h.vm.ToValue(h.timers.byID[c.Argument(0).ToInteger()] != nil)
}

func (h *Handler) disarm(c goja.FunctionCall) {
	if n := h.timers.byID[c.Argument(0).ToInteger()]; n != nil {
		delete(h.timers.byID, n.id)
		h.timers.remove(n)
	}
}

// schedule makes sure that the game session's timer fires no later than the first timer is due.
func (t *timers) schedule() {
	n := t.next()
	if n == nil || t.h.session == nil || !t.armed.IsZero() && !n.due.Before(t.armed) {
		return
	}
	t.armed = n.due
	if d := time.Until(t.armed); t.alarm != nil {
		t.alarm.Reset(d)
	} else {
		t.alarm = t.h.session.After(d, t.fire)
	}
}

// turnMax is how long the timers of one runtime may fire before other game sessions get a turn. Each callback
// may be too short for the watchdog to pace it.
const turnMax = time.Millisecond

// fire runs the timers that are due. An interval stays aligned with its first due time, unless it is already
// late for the next one: then it restarts from now.
func (t *timers) fire() {
	t.armed = time.Time{}
	now := time.Now()
	for n := t.next(); n != nil && !n.due.After(now) && !t.h.dead && time.Since(now) < turnMax; n = t.next() {
		t.remove(n)
		if n.every == 0 {
			delete(t.byID, n.id)
		}
		t.at = n.at
		t.run("timer", t.fireOne, n.object)
		if t.byID[n.id] == n {
			if n.due = n.due.Add(n.every); n.due.Before(now) {
				n.due = now.Add(n.every)
			}
			t.add(n)
		}
	}
	if !t.h.dead {
		t.schedule()
	}
}

// soon implements host.soon(object). The immediate runs after the messages that are already in the actor's
// mailbox.
func (h *Handler) soon(c goja.FunctionCall) {
	h.timers.room()
	h.timers.immediates = append(h.timers.immediates, c.Argument(0))
	h.timers.waiting++
	if !h.timers.turnComes && h.session != nil {
		h.timers.takeTurn()
	}
}

// takeTurn makes the immediates run soon.
func (t *timers) takeTurn() {
	if t.turnComes = true; t.turn != nil {
		t.turn.Reset(0)
	} else {
		t.turn = t.h.session.After(0, t.fireImmediates)
	}
}

func (t *timers) fireImmediates() {
	now, began := t.immediates, time.Now()
	t.immediates, t.turnComes = nil, false
	for i, o := range now {
		if t.run("immediate", t.fireSoon, o); time.Since(began) >= turnMax && i+1 < len(now) && !t.h.dead {
			t.immediates = append(now[i+1:], t.immediates...)
			break
		}
	}
	if !t.turnComes && len(t.immediates) > 0 && !t.h.dead {
		t.takeTurn()
	}
}

// run calls the script. An error that the script does not catch is an uncaught error.
func (t *timers) run(what string, f native, object goja.Value) {
	if _, err := t.h.call(what, f, func(a *arguments) { a.add(object) }); err != nil && !t.h.dead {
		t.h.process.Counters.ScriptErrors.Add(1)
		if !t.h.program.limits.KeepRunningOnError {
			t.h.crash("Uncaught error: " + err.Error())
		}
	}
}

// later compares timers by due time and then by creation, in descending order. So the next timer is the last
// of the queue.
func later(a, b *timer) int { return cmp.Or(b.due.Compare(a.due), cmp.Compare(b.id, a.id)) }

// add inserts a timer into the queue. With 10,000 timers in the queue, that takes microseconds.
func (t *timers) add(n *timer) {
	i, _ := slices.BinarySearchFunc(t.queue, n, later)
	t.queue = slices.Insert(t.queue, i, n)
}

// remove removes a timer from the queue if it is there.
func (t *timers) remove(n *timer) {
	if i, ok := slices.BinarySearchFunc(t.queue, n, later); ok {
		t.queue = slices.Delete(t.queue, i, i+1)
	}
}

// next returns the timer that is due first, or nil if there is none.
func (t *timers) next() *timer {
	if len(t.queue) == 0 {
		return nil
	}
	return t.queue[len(t.queue)-1]
}
