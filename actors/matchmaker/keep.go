package matchmaker

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"troupe/actors/matchmaker/ruleset"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// memory tracks the memory that tickets use.
type memory struct {
	bytes      int       // of the records of all tickets
	endedBytes int       // of ended tickets
	ended      []*ticket // by time of their end, including forgotten ones
	count      int       // of ended ones that are not forgotten
}

// add counts a ticket that has ended.
func (k *memory) add(t *ticket) {
	k.ended = append(k.ended, t)
	k.count++
	k.endedBytes += t.size
}

// resize counts another size of a ticket that has not been counted as ended.
func (k *memory) resize(t *ticket, size int) {
	k.bytes += size - t.size
	t.size = size
}

// drop forgets a ticket that has ended.
func (k *memory) drop(t *ticket) {
	t.forgotten = true
	k.count--
	k.bytes -= t.size
	k.endedBytes -= t.size
}

// room reports whether one more ticket of size bytes fits.
func (k *memory) room(size, most int) bool { return k.bytes-k.endedBytes+size <= most }

func (k *memory) words(matchmakers, active int) map[string]string {
	return map[string]string{
		"configurations": strconv.Itoa(matchmakers), "active": strconv.Itoa(active), "ended": strconv.Itoa(k.count), "bytes": strconv.Itoa(k.bytes),
	}
}

// gone reports whether a ticket has ended and is not shown any more.
func (m *Manager) gone(t *ticket, now time.Time) bool {
	return t.record.Status.Final() && now.Sub(t.record.Ended) > m.o.EndedKeep
}

// forget drops ended tickets and their records, oldest first, until one more of size bytes fits the bounds.
func (m *Manager) forget(now time.Time, size int) {
	var changes []store.Change
	size += m.ledger.Claimed(store.Ticket).Bytes
	k, n := &m.memory, 0
	for ; n < len(k.ended) && len(changes) < forgetMax; n++ {
		t := k.ended[n]
		if k.count <= m.o.EndedMax && k.bytes+size <= m.o.BytesMax && !m.gone(t, now) {
			break
		}
		k.drop(t)
		if m.tickets[t.id()] != t { // a newer ticket has its id
			continue
		}
		delete(m.tickets, t.id())
		if m.ledger.Free(ticketKey(t.id())) { // otherwise a newer ticket with this id is being stored
			changes = append(changes, store.Delete(store.Ticket, string(t.id())))
		}
	}
	clear(k.ended[:n])
	k.ended = k.ended[n:]
	if changes != nil {
		m.ledger.CommitAsync(changes...)
	}
}

// State holds the stored records of matchmaking.
type State struct {
	ruleSets    []ruleSet // a body that is empty marks a deleted one
	matchmakers []*messages.Matchmaker
	tickets     []storedTicket
	matches     []*messages.Match
	games       []*messages.MatchedGame
	damaged     []store.Damage
}

type storedTicket struct {
	record *messages.Ticket
	size   int
}

// Damaged returns the stored records that were left out: those that do not decode or are inconsistent.
func (s *State) Damaged() []store.Damage { return s.damaged }

// Load reads a State. It may take long, so actors must not call it.
func Load(s store.Store) (*State, error) {
	state := new(State)
	err := errors.Join(
		load(s, state, store.RuleSet, func(id string, r *messages.RuleSet, _ int) error {
			made := ruleSet{record: r}
			if string(r.Name) != id {
				return errIncomplete
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
		load(s, state, store.Matchmaker, func(id string, r *messages.Matchmaker, _ int) error {
			if string(r.Name) != id {
				return errIncomplete
			}
			state.matchmakers = append(state.matchmakers, r)
			return nil
		}),
		load(s, state, store.Ticket, func(id string, r *messages.Ticket, size int) error {
			if string(r.ID) != id || r.Status == 0 || len(r.Players) == 0 {
				return errIncomplete
			}
			state.tickets = append(state.tickets, storedTicket{r, size})
			return nil
		}),
		load(s, state, store.Match, func(id string, r *messages.Match, _ int) error {
			if string(r.ID) != id || len(r.Tickets) == 0 {
				return errIncomplete
			}
			state.matches = append(state.matches, r)
			return nil
		}),
		load(s, state, store.MatchedGame, func(id string, r *messages.MatchedGame, _ int) error {
			if string(r.Session) != id || r.Matchmaker == "" {
				return errIncomplete
			}
			state.games = append(state.games, r)
			return nil
		}),
	)
	return state, err
}

var errIncomplete = errors.New("is not complete")

// load reads the records of a kind. Take refuses a damaged one.
func load[T any](s store.Store, state *State, kind store.Kind, take func(id string, r *T, size int) error) error {
	damaged, err := s.Load(kind, func(id string, value []byte) error {
		r := new(T)
		err := json.Unmarshal(value, r)
		if err != nil {
			err = fmt.Errorf("cannot be read: %w", err)
		} else {
			err = take(id, r, len(value))
		}
		if err != nil {
			state.damaged = append(state.damaged, store.Damage{Kind: kind, ID: id, Err: err})
		}
		return nil
	})
	state.damaged = append(state.damaged, damaged...)
	return err
}

// inEffect returns the records to start with: the stored ones, and the configured ones that were never changed or deleted.
func inEffect[T any](stored, configured []T, name func(T) string, deleted func(T) bool) (all []T) {
	known := map[string]bool{}
	for _, r := range stored {
		known[name(r)] = true
		if !deleted(r) {
			all = append(all, r)
		}
	}
	for _, r := range configured {
		if !known[name(r)] {
			all = append(all, r)
		}
	}
	return all
}

// CheckConfigured refuses a configured rule set that is not valid, and a configuration whose rule set is neither configured nor
// stored. The error names the key of the configuration.
func (s *State) CheckConfigured(o Options) error {
	sets := map[messages.RuleSetName]*ruleSet{}
	for i := range s.ruleSets {
		if stored := &s.ruleSets[i]; stored.set != nil {
			sets[stored.record.Name] = stored
		}
	}
	for i, r := range o.RuleSets {
		made, err := Compile(*r)
		if err != nil {
			return fmt.Errorf("matchmaking.ruleSets[%d]: rule set %s: %w", i, r.Name, err)
		}
		sets[r.Name] = &made.ruleSet
	}
	for i, r := range o.Matchmakers {
		err := CheckMatchmaker(r)
		switch set := sets[r.RuleSet]; {
		case err != nil:
		case set != nil:
			err = checkRoom(r, set)
		case !slices.ContainsFunc(s.damaged, func(d store.Damage) bool { return d.Kind == store.RuleSet && d.ID == string(r.RuleSet) }):
			err = fmt.Errorf("there is no rule set %s", r.RuleSet)
		}
		if err != nil {
			return fmt.Errorf("matchmaking.configurations[%d]: %s: %w", i, r.Name, err)
		}
	}
	return nil
}

func (m *Manager) restoreDamaged() {
	m.damaged = make(map[store.Kind]map[string]bool)
	for _, d := range m.restored.damaged {
		if m.damaged[d.Kind] == nil {
			m.damaged[d.Kind] = make(map[string]bool)
		}
		m.damaged[d.Kind][d.ID] = true
	}
}

func (m *Manager) restoreRuleSets(c *stage.Context) {
	var configured []ruleSet
	for _, r := range m.o.RuleSets {
		set, err := ruleset.Parse(r.Body, ruleset.Options{})
		if err != nil { // the caller has checked it
			c.Log().Error().Err(err).Str("rule_set", string(r.Name)).Msg("a configured rule set is not valid")
			continue
		}
		configured = append(configured, ruleSet{r, set})
	}
	for _, s := range inEffect(m.restored.ruleSets, configured, func(s ruleSet) string { return string(s.record.Name) }, func(s ruleSet) bool { return s.set == nil }) {
		record := *s.record
		record.ARN = m.arn(KindRuleSet, string(record.Name))
		m.ruleSets[record.Name] = &ruleSet{&record, s.set}
	}
}

func (m *Manager) restoreMatchmakers(c *stage.Context) {
	all := inEffect(m.restored.matchmakers, m.o.Matchmakers, func(r *messages.Matchmaker) string { return string(r.Name) },
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

// restore restores the state. Tickets that wait go on with their age; matches go on with what they wait for. A ticket whose
// match is gone waits again, and one whose configuration is gone becomes FAILED.
func (m *Manager) restore(c *stage.Context) {
	m.restoreDamaged()
	m.restoreRuleSets(c)
	m.restoreMatchmakers(c)
	s := m.restored
	m.restored = nil
	slices.SortStableFunc(s.tickets, func(a, b storedTicket) int {
		return cmp.Or(a.orderTime().Compare(b.orderTime()), cmp.Compare(a.record.ID, b.record.ID))
	})
	lost := map[messages.MatchmakerName]*matchmaker{}
	var active []*ticket
	for _, r := range s.tickets {
		if r.record.Status.Final() {
			t := &ticket{record: r.record, size: r.size}
			m.tickets[t.id()] = t
			m.memory.bytes += t.size
			m.memory.add(t)
			continue
		}
		k := m.matchmakers[r.record.Matchmaker]
		if k == nil { // a stand-in, so that the ticket can fail
			if k = lost[r.record.Matchmaker]; k == nil {
				k = newMatchmaker(&messages.Matchmaker{Name: r.record.Matchmaker, ARN: m.arn(KindMatchmaker, string(r.record.Matchmaker)), RequestTimeout: math.MaxInt64}, nil)
				lost[r.record.Matchmaker] = k
			}
		}
		active = append(active, m.add(k, r.record, r.size))
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
		m.games[r.Session] = m.newGame(r)
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

// orderTime is the time by which tickets are ordered: the end, or the start of one that has not ended.
func (s storedTicket) orderTime() time.Time {
	if s.record.Status.Final() {
		return s.record.Ended
	}
	return s.record.Started
}

// restoreMatch returns a match that goes on, nil if one of its tickets or its configuration is gone.
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

// resume lets a ticket go on after a start, in place of older tickets of its players.
func (m *Manager) resume(c *stage.Context, t *ticket, lost map[messages.MatchmakerName]*matchmaker) {
	m.resumeBackfill(t)
	for i := range t.record.Players {
		p := t.record.Players[i].ID
		old := m.players[p]
		if old != nil && t.automatic() {
			continue
		}
		m.players[p] = t
		if old != nil && old != t {
			m.supersede(c, old, p)
		}
	}
	if t.proposal != nil {
		return
	}
	if s := t.record.Status; s == messages.TicketRequiresAcceptance || s == messages.TicketPlacing {
		next := t.returned(t.record.Started, reasonPlacement)
		t.record = next
	}
	if lost[t.record.Matchmaker] == t.k {
		m.orphan(c, t)
		return
	}
	m.setAlarm(c, &t.timeout, t.record.Started.Add(t.k.record.RequestTimeout))
}
