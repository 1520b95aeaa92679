package launch

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"troupe/actors/serverprocess"
)

const (
	// retryMin (pool.pause) and retryMax are the first and the longest pause before the next start after a failure.
	retryMin = time.Second
	retryMax = 5 * time.Minute
	// soon is how soon after its start the end of a process is a failure even if it was ready: a crash, or an end without
	// a game session.
	soon = time.Minute
	// connectLimit is how long a process may take to connect. exitLimit is how long it may take to exit after it has
	// said that it ends, and stopLimit how long after SIGTERM.
	connectLimit = 5 * time.Minute
	exitLimit    = time.Minute
	stopLimit    = 10 * time.Second
	// askLimit is how long the endpoint may take to end a process. It is longer than the grace of a process.
	askLimit = serverprocess.Grace + 10*time.Second
	// startingMax limits the processes that are started at the same time and are not ready yet.
	startingMax = 4
)

// Codes of fleet events (server-sdk.md 9.1 and 16).
const (
	eventInvalidPath = "SERVER_PROCESS_INVALID_PATH"
	eventInitTimeout = "SERVER_PROCESS_SDK_INITIALIZATION_TIMEOUT"
	eventExitTimeout = "SERVER_PROCESS_PROCESS_EXIT_TIMEOUT"
	eventGeneric     = "GENERIC_EVENT"
)

// action is what the owner of a pool does. Exactly one kind of field group is used.
type action struct {
	do      verb
	process string // its id
	port    int    // for start
	code    string // for event
	text    string // for event
}

type verb uint8

const (
	start verb = iota + 1
	ask        // tell the process to end, by the endpoint
	stop       // send SIGTERM
	kill       // send SIGKILL
	event      // add an event to the fleet
	runs       // a process is ready
	fails      // a process has failed, and none was ever ready
)

// stage is how far a process is.
type stage uint8

const (
	started stage = iota
	connected
	ready
	hosting
	leaving
	asked
	stopping
	killed
)

// going reports whether the process ends.
func (s stage) going() bool { return s >= leaving }

// process is a process as its pool knows it.
type process struct {
	stage stage
	began time.Time
	due   time.Time // when the pool acts on it; zero: never
	port  int
	ready bool // was ready
	hosts bool // has or had a game session
}

// exit is how a process has ended.
type exit struct {
	code string // of the fleet event if it is not just a crash; empty
	text string // what happened, with the last lines of output
	bad  bool   // not with exit code 0
	host bool   // it is the host that could not start it: the executable was not tried
}

// pool decides on the processes of one fleet in one location. It is pure: each method gets the time, and returns what to
// do, in order.
type pool struct {
	newID  func() string
	ports  *ports
	want   int
	proven bool          // a process has been ready
	failed int           // failures since a process last hosted or lived for soon
	pause  time.Duration // after the first failure
	retry  time.Time     // nothing is started before
	dry    bool          // it was said that there is no port
	all    map[string]*process
}

func newPool(newID func() string, p *ports) *pool {
	return &pool{newID: newID, ports: p, pause: retryMin, all: make(map[string]*process)}
}

// idle reports whether the pool may be forgotten: it has no processes, wants none, and has nothing to remember.
func (p *pool) idle() bool { return p.want == 0 && p.failed == 0 && len(p.all) == 0 }

// live returns how many processes do not end.
func (p *pool) live() (n int) {
	for _, o := range p.all {
		if !o.stage.going() {
			n++
		}
	}
	return n
}

// most limits the processes of the pool with those that end.
func (p *pool) most() int { return 2*p.want + 4 }

// set sets the number of processes. Those with a game session go on.
func (p *pool) set(want int, now time.Time) []action {
	p.want = want
	surplus := p.live() - want
	var idle []string
	for id, o := range p.all {
		if o.stage < hosting {
			idle = append(idle, id)
		}
	}
	slices.SortFunc(idle, func(a, b string) int { // those that are furthest from a game session first
		return cmp.Or(cmp.Compare(p.all[a].stage, p.all[b].stage), p.all[b].began.Compare(p.all[a].began), cmp.Compare(a, b))
	})
	var do []action
	for _, id := range idle[:max(0, min(surplus, len(idle)))] {
		do = append(do, p.end(id, now))
	}
	return append(do, p.fill(now)...)
}

// end ends a process: by the endpoint if it is there.
func (p *pool) end(id string, now time.Time) action {
	o := p.all[id]
	if o.stage == started {
		return p.stop(id, now)
	}
	o.stage, o.due = asked, now.Add(askLimit)
	return action{do: ask, process: id}
}

func (p *pool) stop(id string, now time.Time) action {
	o := p.all[id]
	o.stage, o.due = stopping, now.Add(stopLimit)
	return action{do: stop, process: id}
}

// fill starts what is missing. After a failure, and before a process has ever been ready, it starts one at a time.
func (p *pool) fill(now time.Time) (do []action) {
	if now.Before(p.retry) {
		return nil
	}
	most := startingMax
	if p.failed > 0 || !p.proven {
		most = 1
	}
	live, starting := p.live(), 0
	for _, o := range p.all {
		if o.stage < ready {
			starting++
		}
	}
	for ; live < p.want && starting < most && len(p.all) < p.most(); live, starting = live+1, starting+1 {
		port, ok := p.ports.take()
		if !ok {
			if !p.dry && live == len(p.all) { // otherwise one that ends may have it
				p.dry = true
				do = append(do, action{do: event, code: eventGeneric, text: fmt.Sprintf("%d of %d processes are not started, because the fleet has no more ports", p.want-live, p.want)})
			}
			return do
		}
		p.dry = false
		id := p.newID()
		p.all[id] = &process{began: now, due: now.Add(connectLimit), port: port}
		do = append(do, action{do: start, process: id, port: port})
	}
	return do
}

// fail counts a failure: the next start is later.
func (p *pool) fail(now time.Time) (do []action) {
	p.backOff(now)
	if !p.proven {
		do = append(do, action{do: fails})
	}
	return do
}

func (p *pool) backOff(now time.Time) {
	p.failed++
	p.retry = now.Add(min(p.pause<<min(p.failed-1, 20), retryMax))
}

// works says that the executable does: what failed before does not count.
func (p *pool) works() { p.failed, p.retry = 0, time.Time{} }

// report says what state the endpoint knows a process in. dropped says that it was ended there by force, so it does not
// end by itself.
func (p *pool) report(id string, s serverprocess.State, dropped bool, now time.Time) []action {
	o := p.all[id]
	if o == nil {
		return nil
	}
	if s == serverprocess.Terminated {
		if o.stage >= stopping {
			return nil
		}
		var do []action
		if o.stage != asked && !o.hosts && (!o.ready || !dropped && now.Sub(o.began) < soon) {
			do = p.fail(now)
		}
		if dropped {
			do = append(do, p.stop(id, now))
		} else {
			o.stage, o.due = leaving, now.Add(exitLimit)
		}
		return append(do, p.fill(now)...)
	}
	if o.stage.going() {
		return nil
	}
	o.due = time.Time{}
	switch s {
	case serverprocess.Connected:
		o.stage = max(o.stage, connected)
		return nil
	case serverprocess.Ready: // again, if its game session was taken back
		o.stage, o.hosts = ready, false
		if o.due = o.began.Add(soon); !now.Before(o.due) {
			o.due = time.Time{}
			p.works()
		}
	case serverprocess.Hosting:
		o.stage, o.hosts = hosting, true
		p.works()
	case serverprocess.Terminating:
		o.stage, o.due = asked, now.Add(askLimit)
		return p.fill(now)
	}
	var do []action
	if !o.ready {
		o.ready, p.proven = true, true
		do = append(do, action{do: runs})
	}
	if o.stage == ready && p.live() > p.want {
		return append(do, p.end(id, now))
	}
	return append(do, p.fill(now)...)
}

// exited says that a process has ended.
func (p *pool) exited(id string, e exit, now time.Time) (do []action) {
	o := p.all[id]
	if o == nil {
		return nil
	}
	delete(p.all, id)
	p.ports.release(o.port)
	switch {
	case e.host && !o.stage.going():
		do = append(do, action{do: event, process: id, code: e.code, text: e.text})
		p.backOff(now)
	case !o.stage.going():
		do = append(do, action{do: event, process: id, code: cmp.Or(e.code, serverprocess.EventCrashed), text: e.text})
		if !o.ready || now.Sub(o.began) < soon {
			do = append(do, p.fail(now)...)
		}
	case o.stage == leaving && e.bad:
		do = append(do, action{do: event, process: id, code: serverprocess.EventUnhealthy, text: e.text})
	}
	return append(do, p.fill(now)...)
}

// due returns when tick must be called, or the zero time.
func (p *pool) due() (at time.Time) {
	earlier := func(t time.Time) {
		if !t.IsZero() && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, o := range p.all {
		earlier(o.due)
	}
	if p.live() < p.want {
		earlier(p.retry)
	}
	return at
}

// tick carries out what is due.
func (p *pool) tick(now time.Time) (do []action) {
	for _, id := range p.sorted() {
		o := p.all[id]
		if o.due.IsZero() || now.Before(o.due) {
			continue
		}
		switch o.stage {
		case started:
			do = append(do, action{do: event, process: id, code: eventInitTimeout, text: "a process has not connected within 5 minutes"}, p.stop(id, now))
			do = append(do, p.fail(now)...)
		case ready:
			o.due = time.Time{}
			p.works()
		case leaving:
			do = append(do, action{do: event, process: id, code: eventExitTimeout, text: "a process has said that it ends, and has not ended within a minute"}, p.stop(id, now))
		case asked:
			do = append(do, p.stop(id, now))
		case stopping:
			o.stage, o.due = killed, time.Time{}
			do = append(do, action{do: kill, process: id})
		}
	}
	if !p.retry.IsZero() && !now.Before(p.retry) {
		p.retry = time.Time{}
	}
	return append(do, p.fill(now)...)
}

// sorted returns the ids in order, so that the same calls return the same actions.
func (p *pool) sorted() []string {
	ids := make([]string, 0, len(p.all))
	for id := range p.all {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
