package launch

import (
	"cmp"
	"slices"
	"time"

	"troupe/actors/serverprocess"
)

const (
	// retryMin and retryMax are the first and the longest pause before the next start after a failure.
	retryMin = time.Second
	retryMax = 5 * time.Minute
	// soon is how soon after its start the crash of a process is a failure even if it was ready.
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
	blame bool // its end is a failure, although the host ends it
}

// exit is how a process has ended.
type exit struct {
	code string // of the fleet event if it is not just a crash; empty
	text string // what happened, with the last lines of output
	bad  bool   // not with exit code 0
}

// pool decides on the processes of one fleet in one location. It is pure: each method gets the time, and returns what to
// do, in order.
type pool struct {
	newID    func() string
	portFrom int // 0: no ports
	ports    int
	next     int // offset of the port to try first: a port rests after its use
	want     int
	proven   bool      // a process has been ready
	failed   int       // failures in a row
	retry    time.Time // nothing is started before
	all      map[string]*process
}

func newPool(newID func() string, portFrom, ports int) *pool {
	return &pool{newID: newID, portFrom: portFrom, ports: ports, all: make(map[string]*process)}
}

// set sets the number of processes. Those with a game session go on.
func (p *pool) set(want int, now time.Time) []action {
	p.want = want
	surplus := -want
	var idle []string
	for id, o := range p.all {
		if !o.stage.going() {
			surplus++
			if o.stage != hosting {
				idle = append(idle, id)
			}
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
	live, starting := 0, 0
	for _, o := range p.all {
		if !o.stage.going() {
			live++
			if o.stage < ready {
				starting++
			}
		}
	}
	for ; live < p.want && starting < most; live, starting = live+1, starting+1 {
		port, ok := p.port()
		if !ok { // of a process that is ending
			return do
		}
		id := p.newID()
		p.all[id] = &process{began: now, due: now.Add(connectLimit), port: port}
		do = append(do, action{do: start, process: id, port: port})
	}
	return do
}

// port returns a port that no process has, and false if there is none. The one that was free for longest comes first.
func (p *pool) port() (int, bool) {
	if p.portFrom == 0 {
		return 0, true
	}
	for range p.ports {
		port := p.portFrom + p.next
		p.next = (p.next + 1) % p.ports
		taken := false
		for _, o := range p.all {
			taken = taken || o.port == port
		}
		if !taken {
			return port, true
		}
	}
	return 0, false
}

// report says what state the endpoint knows a process in. dropped says that it was ended there by force, so it does not
// end by itself.
func (p *pool) report(id string, s serverprocess.State, dropped bool, now time.Time) []action {
	o := p.all[id]
	if o == nil {
		return nil
	}
	if s == serverprocess.Terminated {
		switch {
		case o.stage >= stopping:
			return nil
		case dropped:
			o.blame = !o.ready
			return append([]action{p.stop(id, now)}, p.fill(now)...)
		}
		o.stage, o.due = leaving, now.Add(exitLimit)
		return p.fill(now)
	}
	if o.stage.going() {
		return nil
	}
	switch s {
	case serverprocess.Connected:
		o.stage = max(o.stage, connected)
	case serverprocess.Ready:
		o.stage = max(o.stage, ready)
	case serverprocess.Hosting:
		o.stage = hosting
	case serverprocess.Terminating:
		o.stage, o.due = asked, now.Add(askLimit)
		return p.fill(now)
	}
	o.due = time.Time{}
	if o.stage < ready {
		return nil
	}
	first := !o.ready
	o.ready, p.proven = true, true
	if first {
		p.failed, p.retry = 0, time.Time{}
		return append([]action{{do: runs}}, p.fill(now)...)
	}
	return nil
}

// exited says that a process has ended.
func (p *pool) exited(id string, e exit, now time.Time) (do []action) {
	o := p.all[id]
	if o == nil {
		return nil
	}
	delete(p.all, id)
	own := !o.stage.going()
	switch {
	case own:
		do = append(do, action{do: event, process: id, code: cmp.Or(e.code, serverprocess.EventCrashed), text: e.text})
	case o.stage == leaving && e.bad:
		do = append(do, action{do: event, process: id, code: serverprocess.EventUnhealthy, text: e.text})
	}
	if o.blame || own && (!o.ready || now.Sub(o.began) < soon) || o.stage == leaving && !o.ready {
		p.failed++
		p.retry = now.Add(min(retryMin<<min(p.failed-1, 20), retryMax))
		if !p.proven {
			do = append(do, action{do: fails})
		}
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
	live := 0
	for _, o := range p.all {
		earlier(o.due)
		if !o.stage.going() {
			live++
		}
	}
	if live < p.want {
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
			o.blame = true
			do = append(do, action{do: event, process: id, code: eventInitTimeout, text: "a process has not connected within 5 minutes"}, p.stop(id, now))
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
