package match

import "troupe/actors/matchmaker/ruleset"

// Made is a finished match in the form that the evaluation of rules needs. Only one goroutine at a time may
// use it.
type Made struct {
	set  *ruleset.RuleSet
	eval evaluator
	c    candidate
}

// NewMade prepares a match for the evaluation of the rules in set. It returns the errors of Pool.Add.
func NewMade(set *ruleset.RuleSet, m *Match) (*Made, error) {
	p := New(set, Options{})
	seats := map[string]seat{}
	c := candidate{teams: make([][]seat, len(set.Teams))}
	for _, t := range m.Tickets {
		if err := p.Add(*t); err != nil {
			return nil, err
		}
		c.tickets = append(c.tickets, p.byID[t.ID])
		for i := range t.Players {
			seats[t.Players[i].ID] = seat{p.byID[t.ID], i}
		}
	}
	for i, team := range m.Teams {
		for _, player := range team.Players {
			c.teams[i] = append(c.teams[i], seats[player.ID])
		}
	}
	return &Made{set: set, c: c}, nil
}

// Holds reports whether a rule holds for the match. rules are all rules of the same stage; a compound rule
// refers to them.
func (m *Made) Holds(r *ruleset.Rule, rules []*ruleset.Rule) bool {
	return m.eval.holds(r, rules, m.set.Attributes, &m.c)
}

// Pairs calls f with each number that a comparison or distance rule measures, and each reference value with
// which the rule compares that number.
func (m *Made) Pairs(r *ruleset.Rule, f func(measured, reference float64)) {
	m.eval.reset()
	ref, _ := m.eval.reference(r, &m.c)
	for _, x := range r.Measurements {
		each(m.eval.eval(x, &m.c, r.Party), x.Type.Depth, func(a value) bool {
			return each(ref, refDepth(r.Reference), func(b value) bool {
				f(a.num, b.num)
				return true
			})
		})
	}
}
