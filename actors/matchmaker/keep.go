package matchmaker

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"troupe/actors/matchmaker/ruleset"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// State contains the stored records of matchmaking.
type State struct {
	store.Unread
	ruleSets    []ruleSet // an empty body means that the rule set was deleted
	matchmakers []*messages.Matchmaker
	tickets     []storedTicket
	matches     []*messages.Match
	games       []*messages.MatchedGame
}

type storedTicket struct {
	record *messages.Ticket
	bytes  int
}

// Load reads a State. It may take long, so actors must not call it.
func Load(s store.Store) (*State, error) {
	state := new(State)
	return state, cmp.Or(
		store.Read(s, &state.Unread, store.RuleSet, func(id string, r *messages.RuleSet, _ int) error {
			made := ruleSet{record: r}
			if string(r.Name) != id {
				return store.ErrIncomplete
			}
			if r.Body != "" {
				set, err := ruleset.Parse(r.Body, ruleset.Options{})
				if err != nil {
					return err
				}
				made.set = set
			}
			state.ruleSets = append(state.ruleSets, made)
			return nil
		}),
		load(s, &state.Unread, store.Matchmaker, &state.matchmakers, func(id string, r *messages.Matchmaker) bool { return string(r.Name) == id }),
		store.Read(s, &state.Unread, store.Ticket, func(id string, r *messages.Ticket, bytes int) error {
			if string(r.ID) != id || r.Status == 0 || len(r.Players) == 0 {
				return store.ErrIncomplete
			}
			state.tickets = append(state.tickets, storedTicket{r, bytes})
			return nil
		}),
		load(s, &state.Unread, store.Match, &state.matches, func(id string, r *messages.Match) bool {
			return string(r.ID) == id && len(r.Tickets) > 0
		}),
		load(s, &state.Unread, store.MatchedGame, &state.games, func(id string, r *messages.MatchedGame) bool {
			return string(r.Session) == id && r.Matchmaker != ""
		}),
	)
}

// load reads the records of a kind. It returns an error for a record for which whole returns false.
func load[T any](s store.Store, u *store.Unread, kind store.Kind, all *[]*T, whole func(id string, r *T) bool) error {
	return store.Read(s, u, kind, func(id string, r *T, _ int) error {
		if !whole(id, r) {
			return store.ErrIncomplete
		}
		*all = append(*all, r)
		return nil
	})
}

// CheckConfigured returns an error if a configured rule set is invalid or a configuration has no rule set.
// The error names the configuration key.
func (s *State) CheckConfigured(o Options) error {
	sets := map[messages.RuleSetName]*ruleSet{}
	for i := range s.ruleSets {
		if stored := &s.ruleSets[i]; stored.set != nil {
			sets[stored.record.Name] = stored
		}
	}
	for i, r := range o.RuleSets {
		set, err := compile(r.Body)
		if err != nil {
			return fmt.Errorf("matchmaking.ruleSets[%d]: rule set %s: %w", i, r.Name, err)
		}
		sets[r.Name] = &ruleSet{r, set}
	}
	for i, r := range o.Matchmakers {
		err := CheckMatchmaker(r)
		switch set := sets[r.RuleSet]; {
		case err != nil:
		case set != nil:
			err = checkRoom(r, set)
		case !s.Has(store.RuleSet, string(r.RuleSet)):
			err = fmt.Errorf("there is no rule set %s", r.RuleSet)
		}
		if err != nil {
			return fmt.Errorf("matchmaking.configurations[%d]: %s: %w", i, r.Name, err)
		}
	}
	return nil
}

func (m *Manager) restoreRuleSets(s *State) {
	var configured []ruleSet
	for _, r := range m.o.RuleSets {
		set, err := ruleset.Parse(r.Body, ruleset.Options{})
		if err == nil { // cannot fail: CheckConfigured has checked it
			configured = append(configured, ruleSet{r, set})
		}
	}
	for _, r := range store.InEffect(s.ruleSets, configured, func(r ruleSet) string { return string(r.record.Name) }, func(r ruleSet) bool { return r.set == nil }) {
		record := *r.record
		record.ARN = m.arn(KindRuleSet, string(record.Name))
		m.ruleSets[record.Name] = &ruleSet{&record, r.set}
	}
}

func (m *Manager) restoreMatchmakers(c *stage.Context, s *State) {
	all := store.InEffect(s.matchmakers, m.o.Matchmakers, func(r *messages.Matchmaker) string { return string(r.Name) },
		func(r *messages.Matchmaker) bool { return r.RuleSet == "" })
	for _, r := range all {
		record := *r
		record.ARN, record.RuleSetARN = m.arn(KindMatchmaker, string(record.Name)), m.arn(KindRuleSet, string(record.RuleSet))
		k := newMatchmaker(&record, m.ruleSets[record.RuleSet])
		if k.rules == nil {
			c.Log().Warn().Str("configuration", string(record.Name)).Str("rule_set", string(record.RuleSet)).
				Msg("the rule set of a matchmaking configuration does not exist: its tickets wait for their timeout")
		}
		m.matchmakers[record.Name] = k
	}
}

// restore restores the state. Waiting tickets keep their age, and matches continue to wait for answers or
// placements. A ticket whose match does not exist waits again. A ticket whose configuration does not exist
// becomes FAILED.
func (m *Manager) restore(c *stage.Context) {
	s := m.restored
	m.restored, m.unread = nil, s.Unread
	m.restoreRuleSets(s)
	m.restoreMatchmakers(c, s)
	slices.SortStableFunc(s.tickets, func(a, b storedTicket) int { // by end time, or by start time if not ended
		x, y := a.record, b.record
		return cmp.Or(cmp.Or(x.Ended, x.Started).Compare(cmp.Or(y.Ended, y.Started)), cmp.Compare(x.ID, y.ID))
	})
	lost := map[messages.MatchmakerName]*matchmaker{}
	var active []*ticket
	for _, r := range s.tickets {
		if r.record.Status.Final() {
			t := &ticket{record: r.record}
			m.tickets[t.id()] = t
			m.retention.Add(&t.kept, string(t.id()), r.bytes)
			m.retention.End(&t.kept, r.record.Ended)
			continue
		}
		k := m.matchmakers[r.record.Matchmaker]
		if k == nil { // a substitute for the missing configuration, so that the ticket can fail
			if k = lost[r.record.Matchmaker]; k == nil {
				k = newMatchmaker(&messages.Matchmaker{Name: r.record.Matchmaker, ARN: m.arn(KindMatchmaker, string(r.record.Matchmaker)), RequestTimeout: math.MaxInt64}, nil)
				lost[r.record.Matchmaker] = k
			}
		}
		active = append(active, m.add(k, r.record, r.bytes))
	}
	var resumed []*proposal
	for _, r := range s.matches {
		if p := m.restoreMatch(r); p != nil {
			resumed = append(resumed, p)
		} else {
			m.ledger.CommitAsync(store.Delete(store.Match, string(r.ID)))
		}
	}
	for _, r := range s.games {
		m.games[r.Session] = &game{record: r}
	}
	for _, t := range active {
		m.resume(c, t, lost)
	}
	for _, p := range resumed {
		m.hold(c, p)
		if p.record.Placing {
			m.place(c, p)
		}
	}
	for _, k := range m.matchmakers {
		m.spawn(c, k)
	}
	for _, g := range m.games {
		m.watch(c, g)
	}
	if len(active) > 0 {
		c.Log().Info().Int("tickets", len(active)).Int("matches", len(resumed)).Msg("matchmaking goes on")
	}
}

// restoreMatch returns a restored match. It returns nil if the configuration or one of the tickets does not
// exist.
func (m *Manager) restoreMatch(r *messages.Match) *proposal {
	p := &proposal{record: r, k: m.matchmakers[r.Matchmaker]}
	if p.k == nil {
		return nil
	}
	for _, id := range r.Tickets {
		t := m.tickets[id]
		if t == nil || t.record.Match != r.ID || t.record.Status.Final() {
			return nil
		}
		p.tickets = append(p.tickets, t)
	}
	for _, t := range p.tickets {
		t.proposal = p
	}
	return p
}

// resume continues a restored ticket. It supersedes older tickets of its players.
func (m *Manager) resume(c *stage.Context, t *ticket, lost map[messages.MatchmakerName]*matchmaker) {
	m.resumeBackfill(t)
	m.claim(c, t)
	if t.proposal != nil {
		return
	}
	if s := t.record.Status; s == messages.TicketRequiresAcceptance || s == messages.TicketPlacing {
		t.record = t.move(t.record, matchLost, t.record.Started).next
	}
	if lost[t.record.Matchmaker] == t.k {
		m.leave(c, t, configurationDeleted)
		return
	}
	m.setTimeout(c, t)
}
