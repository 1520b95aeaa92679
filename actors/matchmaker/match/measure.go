package match

import (
	"math"

	"troupe/actors/matchmaker/ruleset"
)

// Measure is the result of one rule for a match.
type Measure struct {
	Rule     string
	Value    float64 // the worst value that the rule tests: a distance, a latency, a count, or an operand of a comparison
	Known    bool    // false: the rule tests no number (strings, compound rules)
	LowWorse bool    // lower values are worse
	Expanded bool    // the rule holds only because of expansions
}

// Meter measures matches of one rule set for reports. Only one goroutine at a time may use it.
type Meter struct {
	pool *Pool
	eval evaluator
}

// NewMeter makes a meter.
func NewMeter(set *ruleset.RuleSet) *Meter { return &Meter{pool: New(set, Options{})} }

// Measure returns the result of each enforced rule for a match of the rule set. Errors are those of Pool.Add.
func (m *Meter) Measure(match *Match) ([]Measure, error) {
	p := m.pool
	seats := map[string]seat{}
	c := &candidate{teams: make([][]seat, len(p.set.Teams))}
	for _, t := range match.Tickets {
		if err := p.Add(*t); err != nil {
			return nil, err
		}
		e := p.byID[t.ID]
		defer p.remove(e)
		c.tickets = append(c.tickets, e)
		for i := range t.Players {
			seats[t.Players[i].ID] = seat{e, i}
		}
	}
	for i, team := range match.Teams {
		for _, player := range team.Players {
			c.teams[i] = append(c.teams[i], seats[player.ID])
		}
	}
	base, now := p.set.Stages[0].Rules, p.set.Stages[p.set.StageAt(match.Age)].Rules
	var all []Measure
	for i, r := range base {
		if !r.Enforced() {
			continue
		}
		out := Measure{Rule: r.Name, Expanded: !m.eval.holds(r, base, p.set.Attributes, c)}
		out.Value, out.LowWorse, out.Known = m.value(now[i], c)
		all = append(all, out)
	}
	return all, nil
}

// value returns the worst value of a rule.
func (m *Meter) value(r *ruleset.Rule, c *candidate) (worst float64, low, known bool) {
	set := func(v float64) {
		if !known || low == (v < worst) {
			worst, known = v, true
		}
	}
	switch r.Type {
	case ruleset.Latency:
		v, ok := bestLatency(r, c.tickets)
		return v, false, ok
	case ruleset.BatchDistance:
		if m.pool.set.Attributes[r.Attribute].Type != ruleset.Number {
			return 0, false, false
		}
		return rangeOfNumbers(r, c.tickets), false, true
	case ruleset.Collection:
		low = r.MinCount != nil
		return m.count(*r, low, c), low, true
	case ruleset.Distance, ruleset.Comparison:
		if r.Reference == nil || r.Measurements[0].Type.Elem != ruleset.NumberElem {
			return 0, false, false
		}
		low = r.MaxDistance == nil && r.Type == ruleset.Distance || r.Operation == ruleset.Greater || r.Operation == ruleset.GreaterEqual
		m.eval.reset()
		ref, _ := m.eval.reference(r, c)
		for _, x := range r.Measurements {
			each(m.eval.eval(x, c, r.Party), x.Type.Depth, func(a value) bool {
				if r.Type == ruleset.Comparison {
					set(a.num)
					return true
				}
				return each(ref, refDepth(r.Reference), func(b value) bool {
					set(math.Abs(a.num - b.num))
					return true
				})
			})
		}
	}
	return worst, low, known
}

// count finds the lowest or highest count of a collection rule: the bound at which the rule begins to hold.
func (m *Meter) count(r ruleset.Rule, low bool, c *candidate) float64 {
	n := 0.0
	for ; n < ruleset.MaxPlayers; n++ {
		bound := n
		if low {
			bound = n + 1
		}
		r.MinCount, r.MaxCount = nil, &bound
		if low {
			r.MinCount, r.MaxCount = &bound, nil
		}
		if m.eval.holds(&r, nil, nil, c) != low {
			break
		}
	}
	return n
}

// bestLatency returns the highest latency at the location that minimises it.
func bestLatency(r *ruleset.Rule, tickets []*entry) (best float64, ok bool) {
	best = math.Inf(1)
next:
	for _, first := range tickets[0].reports {
		worst := 0.0
		for _, e := range tickets {
			ms, found := e.latencyTo(first.id, r.Party)
			if !found {
				continue next
			}
			worst = max(worst, ms)
		}
		best = min(best, worst)
	}
	return best, !math.IsInf(best, 1)
}
