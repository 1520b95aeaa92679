package matchmaker

import (
	"cmp"
	"slices"

	"troupe/actors/ledger"
	"troupe/actors/matchmaker/ruleset"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// ruleSet is a rule set and its compiled form.
type ruleSet struct {
	record *messages.RuleSet
	set    *ruleset.RuleSet
}

// CheckRuleSet checks the body of a rule set. It takes too long for an actor, and may be called on any
// goroutine. The error is InvalidRequest and contains the position of the mistake.
func CheckRuleSet(body string) error {
	_, err := compile(body)
	return err
}

func compile(body string) (*ruleset.RuleSet, error) {
	set, err := ruleset.Parse(body, ruleset.Options{})
	if err != nil {
		return nil, messages.Errorf(messages.InvalidRequest, "%s", err.Error()) // the text begins with an error code (flexmatch.md 10)
	}
	return set, nil
}

// ruleSetCompiled is a request to create a rule set, with the compiled rule set.
type ruleSetCompiled struct {
	stage.Request[messages.CreateRuleSet, *messages.RuleSet]
	set *ruleset.RuleSet
}

// OnDeadLetter implements stage.DeadLetter.
func (r ruleSetCompiled) OnDeadLetter() { r.Reply(nil, errStopped) }

func ruleSetKey(name messages.RuleSetName) ledger.Key {
	return ledger.Key{Kind: store.RuleSet, ID: string(name)}
}

func (m *Manager) onNewRuleSet(c *stage.Context, r stage.Request[messages.CreateRuleSet, *messages.RuleSet]) {
	self := c.Self()
	go func() {
		set, err := compile(r.Request.RuleSet.Body)
		if err != nil {
			r.Reply(nil, err)
			return
		}
		self.Tell(ruleSetCompiled{r, set})
	}()
}

func (m *Manager) onRuleSetCompiled(c *stage.Context, r ruleSetCompiled) {
	made := ruleSet{&r.Request.Request.RuleSet, r.set}
	name := made.record.Name
	m.ledger.Do(ledger.Transaction{Key: ruleSetKey(name), Reply: r.With(&made.record), Decide: func() (ledger.Entry, error) {
		old := m.ruleSets[name]
		switch {
		case old != nil && messages.SameCall(old.record.Call, made.record.Call):
			made.record = old.record
			return ledger.Entry{}, nil
		case old != nil:
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "rule set %s exists", name)
		case len(m.ruleSets)+m.ledger.Claimed(store.RuleSet).Count >= ruleSetsMax:
			return ledger.Entry{}, messages.Errorf(messages.LimitExceeded, "the host has its maximum of %d rule sets", ruleSetsMax)
		}
		made.record.ARN, made.record.Created = m.arn(KindRuleSet, string(name)), c.Now()
		return ledger.Entry{
			Changes: []store.Change{store.Put(store.RuleSet, string(name), made.record)}, Claim: ledger.Claim{Count: 1},
			Apply: func() { m.ruleSets[name] = &made },
		}, nil
	}})
}

func (m *Manager) onDropRuleSet(r stage.Request[messages.DeleteRuleSet, stage.None]) {
	name := r.Request.Name
	m.ledger.Do(ledger.Transaction{Key: ruleSetKey(name), Reply: r.With(new(stage.None)), Decide: func() (ledger.Entry, error) {
		if _, err := m.ruleSet(name); err != nil {
			return ledger.Entry{}, err
		}
		for _, k := range m.matchmakers {
			if k.record.RuleSet == name {
				return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "rule set %s is in use by the matchmaking configuration %s", name, k.record.Name)
			}
		}
		drop := store.Delete(store.RuleSet, string(name))
		if slices.ContainsFunc(m.o.RuleSets, func(s *messages.RuleSet) bool { return s.Name == name }) {
			drop = store.Put(store.RuleSet, string(name), messages.RuleSet{Name: name}) // otherwise the next start would restore it
		}
		return ledger.Entry{Changes: []store.Change{drop}, Apply: func() { delete(m.ruleSets, name) }}, nil
	}})
}

func (m *Manager) tagRuleSet(name messages.RuleSetName, change func(map[string]string) (map[string]string, error), reply func(error)) {
	m.ledger.Do(ledger.Transaction{Key: ruleSetKey(name), Reply: reply, Decide: func() (ledger.Entry, error) {
		s, err := m.ruleSet(name)
		if err != nil {
			return ledger.Entry{}, err
		}
		next := *s.record
		if next.Tags, err = change(next.Tags); err != nil {
			return ledger.Entry{}, err
		}
		return ledger.Entry{Changes: []store.Change{store.Put(store.RuleSet, string(name), &next)}, Apply: func() { s.record = &next }}, nil
	}})
}

func (m *Manager) ruleSet(name messages.RuleSetName) (*ruleSet, error) {
	if s := m.ruleSets[name]; s != nil {
		return s, nil
	}
	if m.unread.Has(store.RuleSet, string(name)) {
		return nil, messages.Errorf(messages.NotFound, "rule set %s is not known here: its record in the store is damaged; create it again", name)
	}
	return nil, messages.Errorf(messages.NotFound, "rule set %s is not known here", name)
}

// allRuleSets returns the rule sets, oldest first.
func (m *Manager) allRuleSets() []*messages.RuleSet {
	all := make([]*messages.RuleSet, 0, len(m.ruleSets))
	for _, s := range m.ruleSets {
		all = append(all, s.record)
	}
	slices.SortFunc(all, func(a, b *messages.RuleSet) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return all
}
