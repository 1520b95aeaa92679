package matchmaker

import (
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"troupe/actors/matchmaker/match"
	"troupe/actors/rebuild"
	"troupe/actors/stage"
	"troupe/messages"
	"troupe/messages/counters"
)

const (
	// slice is the number of evaluations (of package match) in a pass before other passes get a turn.
	slice = 2000
	// splitAgain is the maximum time between passes over a pool of more than one batch, because another split
	// into batches may find matches.
	splitAgain = 5 * time.Second
)

// matcher owns the pool of one configuration. While a slice of a pass is running, the actor does not access
// the pool; it queues changes and questions.
type matcher struct {
	manager  *stage.Ref
	name     messages.MatchmakerName // name of the configuration
	number   uint64                  // number of this matcher
	interval time.Duration

	// used by the slice while one is running, and otherwise by the actor
	pool *match.Pool
	pass *match.Pass

	worker worker // runs the slices

	// owned by the actor
	running   bool // a slice is running, or a pass is between two slices
	paused    bool
	adds      []match.Ticket              // tickets for the next pass; the Manager limits their number
	removes   []string                    // applied before the next slice
	questions []question                  // answered before the next slice
	missed    bool                        // a pass became due while another was running or the matcher was paused
	misfits   map[messages.TicketID]error // tickets that the rule set refuses
	timer     *stage.Timer
	next      time.Time     // when the next pass is due; zero if none is
	last      time.Time     // when the last pass began
	took      time.Duration // computing time of the current pass so far
}

// Messages to a matcher.
type (
	addTicket    struct{ ticket match.Ticket }
	removeTicket struct{ id messages.TicketID }
	setPaused    struct{ on bool }
	passDue      struct{}
	// question asks why a ticket has not been matched.
	question struct {
		ticket messages.TicketID
		reply  func(match.Explanation, error)
	}
	sliceEnded struct {
		matches []match.Match
		done    bool
		took    time.Duration
		misfits map[messages.TicketID]error
		cut     bool          // the budget was spent before all tickets were tried; the next pass continues with the others
		next    time.Duration // time until the next expansion; 0 if there is none
		crash   string
	}
)

// Messages from a matcher to the Manager.
type (
	passEnded struct {
		matchmaker messages.MatchmakerName
		took       time.Duration // computing time
	}
	ticketsPooled struct{ ids []messages.TicketID }
	matchFound    struct {
		matchmaker messages.MatchmakerName
		run        uint64 // number of the matcher
		match      match.Match
	}
)

// spawn starts the matcher of a configuration with all waiting tickets. It stops the previous matcher.
func (m *Manager) spawn(c *stage.Context, k *matchmaker) {
	m.stopMatcher(k)
	if k.rules == nil || m.matchmakers[k.record.Name] != k {
		return
	}
	k.matcher = c.Stage().NewRefBeside(c.Self(), counters.ActorMatchmaker, stage.LaneLimits{})
	m.runs++
	k.run, k.since = m.runs, time.Now()
	a := &matcher{
		manager: c.Self(), name: k.record.Name, number: k.run, interval: m.o.Interval, paused: m.draining,
		misfits: make(map[messages.TicketID]error),
		worker:  worker{gate: m.gate, work: m.o.work},
	}
	a.pool = match.New(k.rules.set, match.Options{AdditionalPlayers: k.record.AdditionalPlayers, Budget: m.o.passBudget, Pause: a.worker.pause})
	c.Spawn(k.matcher, a)
	for _, t := range k.waiting() {
		m.enqueue(t)
	}
}

func (m *Manager) stopMatcher(k *matchmaker) {
	if k.matcher != nil {
		k.matcher.Stop()
		k.matcher = nil
	}
}

// onExited replaces a crashed matcher after a pause.
func (m *Manager) onExited(c *stage.Context, e stage.Exited) {
	for _, k := range m.matchmakers {
		if k.matcher != e.Ref {
			continue
		}
		k.matcher = nil
		if time.Since(k.since) > rebuild.PauseMax {
			k.crashes = 0
		}
		pause := rebuild.Pause(k.crashes)
		k.crashes++
		c.Counters().Restarts.Add(counters.ActorMatchmaker, 1)
		c.Log().Error().Str("reason", e.Crash).Str("configuration", string(k.record.Name)).Dur("pause_ms", pause).Msg("the pool of a matchmaking configuration is rebuilt")
		c.After(pause, runLater{func(c *stage.Context) { m.spawn(c, k) }})
	}
}

// Started implements stage.Actor.
func (a *matcher) Started(c *stage.Context) {
	a.timer = c.After(time.Hour, passDue{})
	a.timer.Stop()
}

// Stopped implements stage.Actor. A slice that is still running ends by itself, without further rests.
func (a *matcher) Stopped(*stage.Context) {
	a.worker.stopped.Store(true)
	for _, q := range a.questions {
		q.OnDeadLetter()
	}
}

// Receive implements stage.Actor.
func (a *matcher) Receive(c *stage.Context, msg any) {
	switch r := msg.(type) {
	case addTicket:
		a.adds = append(a.adds, r.ticket)
		a.dueIn(a.untilNext())
	case removeTicket:
		a.onRemove(r.id)
	case setPaused:
		a.paused = r.on
		a.dueIn(a.untilNext())
	case question:
		a.onQuestion(c, r)
	case passDue:
		a.next = time.Time{}
		a.begin(c)
	case sliceEnded:
		a.onSliceEnded(c, r)
	default:
		c.Unknown(msg)
	}
}

// onRemove removes a ticket from the pool, or from the tickets for the next pass.
func (a *matcher) onRemove(id messages.TicketID) {
	if i := slices.IndexFunc(a.adds, func(t match.Ticket) bool { return t.ID == string(id) }); i >= 0 {
		a.adds = slices.Delete(a.adds, i, i+1)
		return
	}
	delete(a.misfits, id)
	a.removes = append(a.removes, string(id))
	if !a.running {
		a.takeRemoves()
	}
}

func (a *matcher) takeRemoves() {
	for _, id := range a.removes {
		a.pool.Remove(id)
	}
	a.removes = nil
}

// untilNext returns the remaining time of the interval since the last pass, but at least a quarter of the
// interval, so that requests that arrive together share a pass.
func (a *matcher) untilNext() time.Duration {
	return max(a.interval-time.Since(a.last), a.interval/4)
}

// dueIn schedules a pass after d, unless one is scheduled earlier.
func (a *matcher) dueIn(d time.Duration) {
	at := time.Now().Add(d)
	if a.next.IsZero() || at.Before(a.next) {
		a.next = at
		a.timer.Reset(d)
	}
}

func (a *matcher) begin(c *stage.Context) {
	if a.running || a.paused {
		a.missed = true // onSliceEnded or setPaused will schedule the next pass
		return
	}
	a.missed, a.took, a.last = false, 0, time.Now()
	adds := a.adds
	a.adds = nil
	for part := range slices.Chunk(adds, passTicketsMax) { // in several messages, so that other actors get turns
		p := ticketsPooled{make([]messages.TicketID, len(part))}
		for i := range part {
			p.ids[i] = messages.TicketID(part[i].ID)
		}
		a.manager.Tell(p)
	}
	now, seed := c.Now(), rand.Uint64()
	a.run(c, func(s *sliceEnded) {
		for i := range adds {
			a.worker.pause()
			// After an update of the configuration, a ticket may not fit the new rule set. It waits for its
			// timeout.
			if err := a.pool.Add(adds[i]); err != nil {
				if s.misfits == nil {
					s.misfits = make(map[messages.TicketID]error)
				}
				s.misfits[messages.TicketID(adds[i].ID)] = err
			}
		}
		a.pass = a.pool.Begin(now, seed)
	})
}

// run runs a slice on a separate goroutine. Before it, it applies removals and answers questions. If first is
// not nil, first begins the pass.
func (a *matcher) run(c *stage.Context, first func(*sliceEnded)) {
	a.running = true
	self, now := c.Self(), c.Now()
	removes, questions := a.removes, a.questions
	a.removes, a.questions = nil, nil
	go func() {
		a.worker.begin()
		var s sliceEnded
		defer func() {
			if r := recover(); r != nil {
				s = sliceEnded{crash: fmt.Sprintf("a pass: %v\n%s", r, debug.Stack())}
				for _, q := range questions {
					q.OnDeadLetter()
				}
			}
			a.worker.end()
			s.took = a.worker.worked
			self.Tell(s)
		}()
		for _, id := range removes {
			a.pool.Remove(id)
		}
		for ; len(questions) > 0; questions = questions[1:] {
			e, ok := a.pool.Explain(string(questions[0].ticket), now, whySample)
			if ok {
				questions[0].reply(e, nil)
			} else {
				questions[0].reply(e, errNotTaken)
			}
		}
		if first != nil {
			first(&s)
		}
		if a.pass == nil { // there was no pass, only questions
			s.done = true
			return
		}
		s.done = a.pass.Step(slice)
		s.matches = a.pass.Take()
		if s.cut = s.done && (a.pass.Cut() || a.pass.Unseen()); s.done && !s.cut {
			s.next = a.untilExpansion(now)
		}
	}()
}

// onSliceEnded sends the matches of a slice to the Manager and starts the next slice.
func (a *matcher) onSliceEnded(c *stage.Context, s sliceEnded) {
	if s.crash != "" {
		panic(s.crash)
	}
	a.took += s.took
	for id, err := range s.misfits {
		a.misfits[id] = err
	}
	for i := range s.matches { // one message per match, so that other actors get turns
		a.manager.Tell(matchFound{a.name, a.number, s.matches[i]})
	}
	if !s.done {
		a.run(c, nil)
		return
	}
	if a.pass != nil {
		c.Counters().MatchmakingPass.Observe(a.took)
		a.manager.Tell(passEnded{a.name, a.took})
	}
	a.running, a.pass = false, nil
	a.takeRemoves()
	if len(a.questions) > 0 {
		a.run(c, nil)
	}
	switch {
	case len(a.adds) > 0, s.cut, a.missed:
		a.dueIn(a.untilNext())
	case s.next > 0:
		a.dueIn(max(s.next, a.untilNext()))
	}
}

// untilExpansion returns the time until another pass may find more matches: until a ticket reaches an
// expansion step, or splitAgain. 0 means never.
func (a *matcher) untilExpansion(now time.Time) time.Duration {
	least := time.Duration(0)
	if a.pool.Len() > match.BatchSize {
		least = splitAgain
	}
	if next := a.pass.NextStep(); !next.IsZero() {
		if d := max(next.Sub(now), 1); least == 0 || d < least {
			least = d
		}
	}
	return least
}
