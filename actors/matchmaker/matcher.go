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
	// slice is how much of a pass runs before other passes get their turn, in evaluations of package match.
	slice = 2000
	// splitAgain is the longest time between two passes over a pool that is split: another split may bring matches.
	splitAgain = 5 * time.Second
)

// matcher owns the pool of one configuration. Its passes run in slices, on a goroutine beside the actor; while one runs, the
// actor leaves the pool alone, and collects what comes.
type matcher struct {
	manager  *stage.Ref
	interval time.Duration

	// used by a slice while one runs, and by the actor otherwise
	pool *match.Pool
	pass *match.Pass

	worker worker // of slices

	// owned by the actor
	running bool // a slice runs, or a pass is between two slices
	paused  bool
	adds    []match.Ticket              // for the next pass; the Manager bounds them
	removes []string                    // for the next slice
	asked   []why                       // for the next slice
	missed  bool                        // a pass has been due while one ran
	misfits map[messages.TicketID]error // tickets that the rule set refuses
	timer   *stage.Timer
	next    time.Time     // when the next pass is due; zero: no change is waited for
	last    time.Time     // when the last pass began
	took    time.Duration // by the slices of the pass so far
}

// Messages to a matcher.
type (
	addTicket    struct{ ticket match.Ticket }
	removeTicket struct{ id messages.TicketID }
	pause        struct{ on bool }
	passDue      struct{}
	why          struct {
		id    messages.TicketID
		reply func(match.Explanation, error)
	}
	sliced struct {
		matches []match.Match
		done    bool
		took    time.Duration
		misfits map[messages.TicketID]error
		cut     bool          // tickets have not had their turn: the next pass is for them
		again   time.Duration // until the next expansion; 0: there is none
		crash   string
	}
)

// Messages of a matcher to the Manager.
type (
	// passed says that a pass has ended.
	passed struct {
		name messages.MatchmakerName
		took time.Duration // of computing
	}
	// passing says that a pass has taken tickets into the pool.
	passing struct{ ids []messages.TicketID }
	// matched has a match of a slice.
	matched struct {
		from  *stage.Ref
		name  messages.MatchmakerName
		match *match.Match
	}
)

// spawn starts the matcher of a configuration, with all tickets that wait. An earlier one is stopped: its matches still count.
func (m *Manager) spawn(c *stage.Context, k *matchmaker) {
	m.stopMatcher(k)
	if k.rules == nil || m.matchmakers[k.record.Name] != k {
		return
	}
	k.matcher = c.Stage().NewRefBeside(c.Self(), counters.ActorMatchmaker, stage.LaneLimits{})
	k.since = time.Now()
	a := &matcher{
		manager: c.Self(), interval: m.o.Interval, paused: m.draining,
		misfits: make(map[messages.TicketID]error),
		worker:  worker{gate: m.gate, work: m.o.work},
	}
	a.pool = match.New(k.rules.set, match.Options{AdditionalPlayers: k.record.AdditionalPlayers, Budget: m.o.passBudget, Pause: a.worker.pause})
	c.Spawn(k.matcher, &named{a, k.record.Name})
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

// onExited replaces a matcher that has crashed, after a pause.
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
		c.After(pause, respawn{k})
	}
}

// named is a matcher that knows its configuration.
type named struct {
	*matcher
	name messages.MatchmakerName
}

// Started implements stage.Actor.
func (a *named) Started(c *stage.Context) {
	a.timer = c.After(time.Hour, passDue{})
	a.timer.Stop()
}

// Stopped implements stage.Actor. A slice that runs ends by itself, without rests.
func (a *named) Stopped(*stage.Context) {
	a.worker.stopped.Store(true)
	for _, q := range a.asked {
		q.OnDeadLetter()
	}
}

// Receive implements stage.Actor.
func (a *named) Receive(c *stage.Context, msg any) {
	switch r := msg.(type) {
	case addTicket:
		a.adds = append(a.adds, r.ticket)
		a.dueIn(a.untilNext())
	case removeTicket:
		a.onRemove(r.id)
	case pause:
		a.paused = r.on
		a.dueIn(a.untilNext())
	case why:
		a.onWhy(c, r)
	case passDue:
		a.next = time.Time{}
		a.begin(c)
	case sliced:
		a.onSliced(c, r)
	default:
		c.Unknown(msg)
	}
}

// onRemove takes a ticket out of the pool, or out of the tickets for the next pass.
func (a *named) onRemove(id messages.TicketID) {
	for i := range a.adds {
		if a.adds[i].ID == string(id) {
			a.adds = append(a.adds[:i], a.adds[i+1:]...)
			return
		}
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

// untilNext is the time until the interval since the last pass is over, at least a part of it: requests that come together
// should meet in one pass.
func (a *named) untilNext() time.Duration {
	return max(a.interval-time.Since(a.last), a.interval/4)
}

// dueIn makes a pass due, unless one is due earlier.
func (a *named) dueIn(d time.Duration) {
	at := time.Now().Add(d)
	if a.next.IsZero() || at.Before(a.next) {
		a.next = at
		a.timer.Reset(d)
	}
}

// begin starts a pass.
func (a *named) begin(c *stage.Context) {
	if a.running || a.paused {
		a.missed = true // the end of the pass, or of the pause, makes the next one due
		return
	}
	a.running, a.missed, a.took, a.last = true, false, 0, time.Now()
	adds := a.adds
	a.adds = nil
	for part := range slices.Chunk(adds, passTicketsMax) { // a Receive for each
		p := passing{make([]messages.TicketID, len(part))}
		for i := range part {
			p.ids[i] = messages.TicketID(part[i].ID)
		}
		a.manager.Tell(p)
	}
	now, seed := c.Now(), rand.Uint64()
	a.run(c, func(s *sliced) {
		for i := range adds {
			a.worker.pause()
			// A ticket that the rule set of an updated configuration does not fit waits for its timeout.
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

// run runs a slice on a goroutine of its own, once one of the Manager's places is free.
func (a *named) run(c *stage.Context, first func(*sliced)) {
	self, now := c.Self(), c.Now()
	removes, asked := a.removes, a.asked
	a.removes, a.asked = nil, nil
	go func() {
		a.worker.begin()
		var s sliced
		defer func() {
			if r := recover(); r != nil {
				s = sliced{crash: fmt.Sprintf("a pass: %v\n%s", r, debug.Stack())}
				for _, q := range asked {
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
		for ; len(asked) > 0; asked = asked[1:] {
			a.answer(asked[0], now)
		}
		if first != nil {
			first(&s)
		}
		if a.pass == nil { // only questions were to be answered
			s.done = true
			return
		}
		s.done = a.pass.Step(slice)
		s.matches = a.pass.Take()
		if s.cut = s.done && (a.pass.Cut() || a.pass.Unseen()); s.done && !s.cut {
			s.again = a.untilExpansion(now)
		}
	}()
}

// onSliced passes the matches of a slice on, and starts the next slice.
func (a *named) onSliced(c *stage.Context, s sliced) {
	if s.crash != "" {
		panic(s.crash)
	}
	a.took += s.took
	for id, err := range s.misfits {
		a.misfits[id] = err
	}
	for i := range s.matches { // a Receive for each
		a.manager.Tell(matched{c.Self(), a.name, &s.matches[i]})
	}
	if !s.done {
		a.run(c, nil)
		return
	}
	if a.pass != nil {
		c.Counters().MatchmakingPass.Observe(a.took)
		a.manager.Tell(passed{a.name, a.took})
	}
	a.running, a.pass = false, nil
	a.takeRemoves()
	if len(a.asked) > 0 {
		a.look(c)
	}
	switch {
	case len(a.adds) > 0, s.cut, a.missed:
		a.dueIn(a.untilNext())
	case s.again > 0:
		a.dueIn(max(s.again, a.untilNext()))
	}
}

// untilExpansion returns the time after which a pass may find matches that the one that has ended does not find: until the next step of an
// expansion for one of the tickets, or splitAgain. 0: there is none.
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
