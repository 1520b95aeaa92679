package matchmaker

import (
	"maps"
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
	restored *State                         // until it has started
	damaged  map[store.Kind]map[string]bool // damaged records; set once
	gate     chan struct{}                  // a slot for each pass that may run

	// owned by the actor
	ruleSets    map[messages.RuleSetName]*ruleSet
	matchmakers map[messages.MatchmakerName]*matchmaker
	tickets     map[messages.TicketID]*ticket
	players     map[messages.PlayerID]*ticket // the newest ticket of a player that has not ended
	proposals   map[messages.MatchID]*proposal
	games       map[messages.GameSessionID]*game // of matches, until they have ended
	active      int                              // tickets that have not ended
	alarms      alarms
	timer       *stage.Timer
	armed       time.Time // when timer fires; zero: it does not run
	memory      memory
	batches     uint64 // numbers the transactions of passes
	draining    bool
	ledger      *ledger.Ledger
}

// New returns the supervisor of a Manager that starts with s, a result of Load. The Placer finds game sessions for matches.
func New(o Options, placer Placer, s *State) *rebuild.Supervisor[*State] {
	if s == nil {
		s = new(State)
	}
	o = o.withDefaults()
	return rebuild.New(rebuild.Options[*State]{
		What: "matchmaking tickets", Kind: counters.ActorMatchmaker, Store: o.Store, Load: Load,
		New: func(s *State) stage.Actor { return newManager(o, placer, s) },
	}, s)
}

// newManager returns a Manager that continues from a state.
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

// Messages of the Manager to itself.
type (
	tick    struct{}
	respawn struct{ k *matchmaker }
)

// Started implements stage.Actor.
func (m *Manager) Started(c *stage.Context) {
	m.ledger = ledger.New(ledger.Options{
		Store: m.o.Store, Publish: m.o.OnEvent, Log: c.Log(),
		Tell:    func(msg any) { c.Self().Tell(msg) },
		After:   func(d time.Duration, msg any) { c.After(d, msg) },
		Stopped: messages.Errorf(messages.Unavailable, "matchmaking is not available at the moment"),
	})
	m.timer = c.After(time.Hour, tick{})
	m.timer.Stop()
	m.restore(c)
}

// Stopped implements stage.Actor.
func (m *Manager) Stopped(*stage.Context) { m.ledger.Stop(true) }

func (m *Manager) onAsk(c *stage.Context, a stage.Ask) {
	switch q := a.Request.(type) {
	case messages.StartMatchmaking:
		m.onStart(c, stage.As(q, a))
	case messages.StartMatchBackfill:
		m.onStartBackfill(c, stage.As(q, a))
	case messages.TicketQuery:
		stage.As(q, a).Reply(m.get(c, q.IDs), nil)
	case messages.StopMatchmaking:
		m.onStop(c, stage.As(q, a))
	case messages.AcceptMatch:
		m.onAccept(c, stage.As(q, a))
	case NewRuleSet:
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
	case tick:
		m.onTick(c)
	case passed:
		if k := m.matchmakers[r.name]; k != nil {
			k.lastPass = r.took
		}
	case passing:
		m.search(c, r.ids)
	case matched:
		m.onMatched(c, r)
	case placed:
		m.onPlaced(c, r)
	case superseded:
		m.supersede(c, r.t, r.p)
	case watched:
		m.onWatched(c, r)
	case seated:
		m.onSeated(c, r)
	case asked:
		m.onAsked(c, r)
	case again:
		r.f(c)
	case respawn:
		m.spawn(c, r.k)
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
func (m *Manager) Inspect() map[string]string { return m.memory.words(len(m.matchmakers), m.active) }

func (m *Manager) setDraining(c *stage.Context, to bool) {
	m.draining = to
	for _, k := range m.matchmakers {
		if k.matcher != nil {
			k.matcher.Tell(pause{to})
		}
	}
	for _, g := range m.games {
		m.reviewLater(c, g, m.o.Interval) // no automatic ticket starts during a drain
	}
}

// arn returns the ARN of a rule set or a configuration (service-api.md 2.2).
func (m *Manager) arn(kind, name string) string {
	return strings.Join([]string{"arn:aws:gamelift", m.o.Region, m.o.Account, kind + "/" + name}, ":")
}

// Kinds of ARNs.
const (
	KindRuleSet    = "matchmakingruleset"
	KindMatchmaker = "matchmakingconfiguration"
)

// tags reads the tags of a rule set or a configuration.
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
	reply := func(err error) {
		if err != nil {
			r.Reply(nil, err)
			return
		}
		r.Reply(maps.Clone(tags), nil)
	}
	change := func(old map[string]string) (now map[string]string, err error) {
		tags, err = messages.ChangeTags(old, r.Request)
		return tags, err
	}
	if r.Request.Resource.Kind == KindRuleSet {
		m.tagRuleSet(messages.RuleSetName(r.Request.Resource.ID), change, reply)
		return
	}
	m.changeMatchmaker(c, messages.MatchmakerName(r.Request.Resource.ID), nil, func(_ *messages.Matchmaker, err error) { reply(err) },
		func(old *messages.Matchmaker) (*messages.Matchmaker, error) {
			next := *old
			var err error
			next.Tags, err = change(old.Tags)
			return &next, err
		})
}

func orNil[T any](v *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}
