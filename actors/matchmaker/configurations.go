package matchmaker

import (
	"cmp"
	"slices"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/matchmaker/match"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// matchmaker is a configuration and its matcher.
type matchmaker struct {
	record   *messages.Matchmaker
	rules    *ruleSet                      // nil if the rule set does not exist; then tickets wait for their timeout
	tickets  map[messages.TicketID]*ticket // those that have not ended
	starting int                           // number of tickets whose first record is being committed
	dropping bool                          // the deletion of the configuration is being committed
	matcher  *stage.Ref
	run      uint64 // number of the current matcher
	crashes  int
	since    time.Time                          // when the matcher began
	recent   match.Recent                       // wait times of tickets that got a game session
	ended    [messages.TicketTimedOut + 1]int64 // number of ended tickets, by status
	lastPass time.Duration                      // computing time of the last pass
}

func newMatchmaker(record *messages.Matchmaker, rules *ruleSet) *matchmaker {
	return &matchmaker{record: record, rules: rules, tickets: make(map[messages.TicketID]*ticket)}
}

func matchmakerKey(name messages.MatchmakerName) ledger.Key {
	return ledger.Key{Kind: store.Matchmaker, ID: string(name)}
}

// CheckMatchmaker returns an error if settings contradict each other (flexmatch.md 15).
func CheckMatchmaker(r *messages.Matchmaker) error {
	switch {
	case r.Standalone && len(r.Queues) > 0:
		return messages.Errorf(messages.InvalidRequest, "GameSessionQueueArns must be empty with FlexMatchMode STANDALONE")
	case r.Standalone && r.AutoBackfill:
		return messages.Errorf(messages.InvalidRequest, "BackfillMode AUTOMATIC needs a queue: it is not available with FlexMatchMode STANDALONE")
	case r.Standalone && (len(r.Properties) > 0 || r.Data != "" || r.AdditionalPlayers > 0):
		return messages.Errorf(messages.InvalidRequest, "GameProperties, GameSessionData and AdditionalPlayerCount have no meaning with FlexMatchMode STANDALONE")
	case !r.Standalone && len(r.Queues) == 0:
		return messages.Errorf(messages.InvalidRequest, "GameSessionQueueArns needs a queue, unless FlexMatchMode is STANDALONE")
	}
	return nil
}

// checkRoom returns an error if the teams do not have room for the additional players.
func checkRoom(r *messages.Matchmaker, s *ruleSet) error {
	least, most := 0, 0
	for _, t := range s.set.Teams {
		least, most = least+t.Min, most+t.Max
	}
	if least > most-r.AdditionalPlayers {
		return messages.Errorf(messages.InvalidRequest, "AdditionalPlayerCount is %d: the teams of rule set %s need %d of %d players", r.AdditionalPlayers, r.RuleSet, least, most)
	}
	return nil
}

func (m *Manager) onNewMatchmaker(c *stage.Context, r stage.Request[messages.CreateMatchmaker, *messages.Matchmaker]) {
	record := r.Request.Matchmaker
	name, made := record.Name, &record
	m.ledger.Do(ledger.Transaction{
		Key: matchmakerKey(name), Uses: []ledger.Key{ruleSetKey(record.RuleSet)}, Reply: r.With(&made),
		Decide: func() (ledger.Entry, error) {
			old := m.matchmakers[name]
			switch {
			case old != nil && messages.SameCall(old.record.Call, record.Call):
				made = old.record
				return ledger.Entry{}, nil
			case old != nil:
				return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "matchmaking configuration %s exists", name)
			case len(m.matchmakers)+m.ledger.Claimed(store.Matchmaker).Count >= matchmakersMax:
				return ledger.Entry{}, messages.Errorf(messages.LimitExceeded, "the host has its maximum of %d matchmaking configurations", matchmakersMax)
			}
			rules, err := m.check(&record)
			if err != nil {
				return ledger.Entry{}, err
			}
			record.ARN, record.RuleSetARN, record.Created = m.arn(KindMatchmaker, string(name)), rules.record.ARN, c.Now()
			return ledger.Entry{
				Changes: []store.Change{store.Put(store.Matchmaker, string(name), &record)}, Claim: ledger.Claim{Count: 1},
				Apply: func() {
					k := newMatchmaker(&record, rules)
					m.matchmakers[name] = k
					m.spawn(c, k)
				},
			}, nil
		},
	})
}

// check returns the rule set of a configuration, or an error if they do not fit together.
func (m *Manager) check(r *messages.Matchmaker) (*ruleSet, error) {
	if err := CheckMatchmaker(r); err != nil {
		return nil, err
	}
	rules, err := m.ruleSet(r.RuleSet)
	if err != nil {
		return nil, err
	}
	return rules, checkRoom(r, rules)
}

func (m *Manager) onUpdateMatchmaker(c *stage.Context, r stage.Request[messages.UpdateMatchmaker, *messages.Matchmaker]) {
	var uses []ledger.Key
	if r.Request.RuleSet != nil {
		uses = []ledger.Key{ruleSetKey(*r.Request.RuleSet)}
	}
	var next *messages.Matchmaker
	m.changeMatchmaker(c, r.Request.Name, uses, r.With(&next), func(old *messages.Matchmaker) (*messages.Matchmaker, error) {
		next = r.Request.Apply(old)
		rules, err := m.check(next)
		if err != nil {
			return nil, err
		}
		next.RuleSetARN = rules.record.ARN
		return next, nil
	})
}

// changeMatchmaker replaces the record of a configuration. If the rule set or the number of additional
// players changes, it starts a new matcher.
func (m *Manager) changeMatchmaker(c *stage.Context, name messages.MatchmakerName, uses []ledger.Key, reply func(error),
	change func(*messages.Matchmaker) (*messages.Matchmaker, error),
) {
	m.ledger.Do(ledger.Transaction{
		Key: matchmakerKey(name), Uses: uses, Reply: reply,
		Decide: func() (ledger.Entry, error) {
			k, err := m.matchmaker(name)
			if err != nil {
				return ledger.Entry{}, err
			}
			record, err := change(k.record)
			if err != nil {
				return ledger.Entry{}, err
			}
			return ledger.Entry{Changes: []store.Change{store.Put(store.Matchmaker, string(name), record)}, Apply: func() {
				samePool := k.record.RuleSet == record.RuleSet && k.record.AdditionalPlayers == record.AdditionalPlayers
				k.record = record
				if !samePool || k.rules == nil {
					k.rules = m.ruleSets[record.RuleSet]
					m.spawn(c, k)
				}
				for _, t := range k.waiting() { // their timeout may have changed
					m.setTimeout(c, t)
				}
				for _, g := range m.games {
					if g.record.Matchmaker == name {
						m.reviewLater(c, g, m.o.Interval) // AutoBackfill may have changed
					}
				}
			}}, nil
		},
	})
}

// onDropMatchmaker deletes a configuration, unless some of its tickets have not ended.
func (m *Manager) onDropMatchmaker(r stage.Request[messages.DeleteMatchmaker, stage.None]) {
	name := r.Request.Name
	m.ledger.Do(ledger.Transaction{Key: matchmakerKey(name), Reply: r.With(new(stage.None)), Decide: func() (ledger.Entry, error) {
		k, err := m.matchmaker(name)
		if err != nil {
			return ledger.Entry{}, err
		}
		if n := len(k.tickets) + k.starting; n > 0 {
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "matchmaking configuration %s has %d tickets that have not ended", name, n)
		}
		drop := store.Delete(store.Matchmaker, string(name))
		if slices.ContainsFunc(m.o.Matchmakers, func(r *messages.Matchmaker) bool { return r.Name == name }) {
			drop = store.Put(store.Matchmaker, string(name), messages.Matchmaker{Name: name}) // otherwise the next start would restore it
		}
		k.dropping = true
		return ledger.Entry{
			Changes: []store.Change{drop},
			Apply: func() {
				delete(m.matchmakers, name)
				m.stopMatcher(k)
			},
			Refused: func() { k.dropping = false },
		}, nil
	}})
}

func (m *Manager) matchmaker(name messages.MatchmakerName) (*matchmaker, error) {
	if k := m.matchmakers[name]; k != nil && !k.dropping {
		return k, nil
	}
	if m.unread.Has(store.Matchmaker, string(name)) {
		return nil, messages.Errorf(messages.NotFound, "matchmaking configuration %s is not known here: its record in the store is damaged; create it again", name)
	}
	return nil, messages.Errorf(messages.NotFound, "matchmaking configuration %s is not known here", name)
}

// allMatchmakers returns the configurations, oldest first.
func (m *Manager) allMatchmakers() []*messages.Matchmaker {
	all := make([]*messages.Matchmaker, 0, len(m.matchmakers))
	for _, k := range m.matchmakers {
		all = append(all, k.record)
	}
	slices.SortFunc(all, func(a, b *messages.Matchmaker) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return all
}
