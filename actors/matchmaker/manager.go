package matchmaker

import (
	"maps"
	"strconv"
	"strings"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/rebuild"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// Manager is the actor that owns all rule sets, configurations, tickets and matches.
type Manager struct {
	o        Options
	placer   Placer
	restored *State        // nil after Started
	unread   store.Unread  // damaged records; set once
	gate     chan struct{} // limits the number of passes that run at the same time

	// owned by the actor
	ruleSets    map[messages.RuleSetName]*ruleSet
	matchmakers map[messages.MatchmakerName]*matchmaker
	tickets     map[messages.TicketID]*ticket
	players     map[messages.PlayerID]*ticket // the newest ticket of each player that has not ended
	proposals   map[messages.MatchID]*proposal
	games       map[messages.GameSessionID]*game // game sessions created for matches, until they end
	active      int                              // number of tickets that have not ended
	retention   *ledger.Retention                // retention of ended tickets
	batches     uint64                           // counter that numbers the transactions of passes
	runs        uint64                           // counter that numbers the matchers
	draining    bool
	ledger      *ledger.Ledger
}

// New returns the supervisor of a Manager that starts with state s, which Load has returned. The placer finds
// game sessions for matches.
func New(o Options, placer Placer, s *State) *rebuild.Supervisor[*State] {
	if s == nil {
		s = new(State)
	}
	o = o.withDefaults()
	return rebuild.New(rebuild.Options[*State]{
		What: "matchmaking tickets", Kind: counters.ActorMatchmaker, Store: o.Store, Load: Load,
		New: func(s *State, from store.Store) stage.Actor {
			o.Store = from
			return newManager(o, placer, s)
		},
	}, s)
}

func newManager(o Options, placer Placer, s *State) *Manager {
	return &Manager{
		o: o, placer: placer, restored: s, gate: make(chan struct{}, o.Workers),
		ruleSets:    make(map[messages.RuleSetName]*ruleSet),
		matchmakers: make(map[messages.MatchmakerName]*matchmaker),
		tickets:     make(map[messages.TicketID]*ticket),
		players:     make(map[messages.PlayerID]*ticket),
		proposals:   make(map[messages.MatchID]*proposal),
		games:       make(map[messages.GameSessionID]*game),
	}
}

var errStopped error = messages.Errorf(messages.Unavailable, "matchmaking is not available at the moment")

// runLater makes the Manager call f. Timers of the Manager send it, and callbacks that run on other
// goroutines.
type runLater struct{ f func(*stage.Context) }

// alarm is a timer that calls a function on the Manager.
type alarm struct {
	at    time.Time // on the monotonic clock; zero if not set
	timer *stage.Timer
}

// set sets the time, given on the wall clock, and the function. If the time has passed, the alarm fires at
// once.
func (a *alarm) set(c *stage.Context, at time.Time, f func(*stage.Context)) {
	d := max(at.Sub(c.Now()), 0)
	a.timer.Stop()
	a.at = time.Now().Add(d)
	a.timer = c.After(d, runLater{func(c *stage.Context) {
		*a = alarm{}
		f(c)
	}})
}

func (a *alarm) clear() {
	a.timer.Stop()
	*a = alarm{}
}

// Started implements stage.Actor.
func (m *Manager) Started(c *stage.Context) {
	m.ledger = ledger.New(ledger.Options{
		Store: m.o.Store, Publish: m.o.OnEvent, Log: c.Log(),
		Tell:    func(msg any) { c.Self().Tell(msg) },
		After:   func(d time.Duration, msg any) { c.After(d, msg) },
		Stopped: errStopped,
	})
	m.retention = m.ledger.NewRetention(ledger.Limits{
		Kind: store.Ticket, EndedMax: m.o.EndedMax, KeepFor: endedKeep, BytesMax: bytesMax,
	}, func(id string) { delete(m.tickets, messages.TicketID(id)) })
	m.restore(c)
}

// Stopped implements stage.Actor.
func (m *Manager) Stopped(*stage.Context) { m.ledger.Stop(true) }

func (m *Manager) onAsk(c *stage.Context, a stage.Ask) {
	switch q := a.Request.(type) {
	case messages.StartMatchmaking:
		m.onStart(c, stage.As(q, a))
	case messages.StartMatchBackfill:
		m.onAskedBackfill(c, stage.As(q, a))
	case messages.TicketQuery:
		stage.As(q, a).Reply(m.get(c, q.IDs), nil)
	case messages.StopMatchmaking:
		m.onStop(c, stage.As(q, a))
	case messages.AcceptMatch:
		m.onAccept(c, stage.As(q, a))
	case messages.CreateRuleSet:
		m.onNewRuleSet(c, stage.As(q, a))
	case messages.DeleteRuleSet:
		m.onDropRuleSet(stage.As(q, a))
	case messages.RuleSetQuery:
		stage.As(q, a).Reply(m.allRuleSets(), nil)
	case messages.CreateMatchmaker:
		m.onNewMatchmaker(c, stage.As(q, a))
	case messages.UpdateMatchmaker:
		m.onUpdateMatchmaker(c, stage.As(q, a))
	case messages.DeleteMatchmaker:
		m.onDropMatchmaker(stage.As(q, a))
	case messages.MatchmakerQuery:
		stage.As(q, a).Reply(m.allMatchmakers(), nil)
	case messages.MatchmakerStateQuery:
		stage.As(q, a).Reply(m.states(c), nil)
	case messages.TicketList:
		stage.As(q, a).Reply(m.listed(q), nil)
	case messages.WhyTicket:
		m.onWhy(c, stage.As(q, a))
	case messages.TagQuery:
		stage.As(q, a).Reply(m.tags(q.Resource))
	case messages.UpdateTags:
		m.onUpdateTags(c, stage.As(q, a))
	default:
		c.Unknown(a)
	}
}

// Receive implements stage.Actor.
func (m *Manager) Receive(c *stage.Context, msg any) {
	switch r := msg.(type) {
	case stage.Ask:
		m.onAsk(c, r)
	case Drain:
		m.setDraining(c, true)
	case CancelDrain:
		m.setDraining(c, false)
	case passEnded:
		if k := m.matchmakers[r.matchmaker]; k != nil {
			k.lastPass = r.took
		}
	case ticketsPooled:
		m.onTicketsPooled(c, r.ids)
	case matchFound:
		if k := m.matchmakers[r.matchmaker]; k != nil && k.matcher != nil && k.run == r.run { // otherwise a newer matcher has the tickets
			m.propose(c, k, &r.match)
		}
	case seatsRead:
		m.onSeatsRead(c, r)
	case ruleSetCompiled:
		m.onRuleSetCompiled(c, r)
	case runLater:
		r.f(c)
	case stage.Exited:
		m.onExited(c, r)
	case ledger.Answer:
		m.ledger.Answered(r)
	case ledger.Due:
		m.ledger.TryAgain(r)
	default:
		c.Unknown(msg)
	}
}

// Inspect implements stage.Inspector.
func (m *Manager) Inspect() map[string]string {
	return m.retention.Inspect(map[string]string{"configurations": strconv.Itoa(len(m.matchmakers)), "active": strconv.Itoa(m.active)})
}

func (m *Manager) setDraining(c *stage.Context, to bool) {
	m.draining = to
	for _, k := range m.matchmakers {
		if k.matcher != nil {
			k.matcher.Tell(setPaused{to})
		}
	}
	for _, g := range m.games {
		m.reviewLater(c, g, m.o.Interval) // during a drain, a review starts no ticket
	}
}

// arn returns the ARN of a rule set or a configuration (service-api.md 2.2).
func (m *Manager) arn(kind, name string) string {
	return strings.Join([]string{"arn:aws:gamelift", m.o.Region, m.o.Account, kind + "/" + name}, ":")
}

// Resource kinds in ARNs.
const (
	KindRuleSet    = "matchmakingruleset"
	KindMatchmaker = "matchmakingconfiguration"
)

func (m *Manager) tags(r messages.Resource) (map[string]string, error) {
	if r.Kind == KindRuleSet {
		s, err := m.ruleSet(messages.RuleSetName(r.ID))
		if err != nil {
			return nil, err
		}
		return maps.Clone(s.record.Tags), nil
	}
	k, err := m.matchmaker(messages.MatchmakerName(r.ID))
	if err != nil {
		return nil, err
	}
	return maps.Clone(k.record.Tags), nil
}

func (m *Manager) onUpdateTags(c *stage.Context, r stage.Request[messages.UpdateTags, map[string]string]) {
	var tags map[string]string
	change := func(old map[string]string) (next map[string]string, err error) {
		next, err = messages.ChangeTags(old, r.Request)
		tags = maps.Clone(next)
		return next, err
	}
	if r.Request.Resource.Kind == KindRuleSet {
		m.tagRuleSet(messages.RuleSetName(r.Request.Resource.ID), change, r.With(&tags))
		return
	}
	m.changeMatchmaker(c, messages.MatchmakerName(r.Request.Resource.ID), nil, r.With(&tags), func(old *messages.Matchmaker) (*messages.Matchmaker, error) {
		next := *old
		var err error
		next.Tags, err = change(old.Tags)
		return &next, err
	})
}
