package matchmaking

import (
	"math"

	"troupe/actors/matchmaker/match"
	"troupe/actors/matchmaker/ruleset"
)

// measure is the result of one rule for a match.
type measure struct {
	rule     string
	value    float64 // worst value that the rule tests: a distance, a latency, a count, or an operand of a comparison
	known    bool    // false: the rule tests no number (strings, compound rules)
	lowWorse bool    // lower values are worse
	expanded bool    // the rule holds only because of expansions
}

// measureMatch returns the result of each enforced rule for a match of the rule set. It returns the errors of
// match.Pool.Add.
func measureMatch(set *ruleset.RuleSet, m *match.Match) (all []measure, err error) {
	made, err := match.NewMade(set, m)
	if err != nil {
		return nil, err
	}
	base, now := set.Stages[0].Rules, set.Stages[set.StageAt(m.Age)].Rules
	for i, r := range base {
		if !r.Enforced() {
			continue
		}
		out := measure{rule: r.Name, expanded: !made.Holds(r, base)}
		out.value, out.lowWorse, out.known = worst(set, made, now[i], m.Tickets)
		all = append(all, out)
	}
	return all, nil
}

// worst returns the worst value of a rule in a match.
func worst(set *ruleset.RuleSet, made *match.Made, r *ruleset.Rule, tickets []*match.Ticket) (worst float64, low, known bool) {
	switch r.Type {
	case ruleset.Latency:
		v, ok := bestLatency(r, tickets)
		return v, false, ok
	case ruleset.BatchDistance:
		a := set.Attributes[r.Attribute]
		return spread(r, a, tickets), false, a.Type == ruleset.Number
	case ruleset.Collection:
		low = r.MinCount != nil
		return count(*r, low, made), low, true
	case ruleset.Distance, ruleset.Comparison:
		if r.Reference == nil || r.Measurements[0].Type.Elem != ruleset.NumberElem {
			return 0, false, false
		}
		low = r.MaxDistance == nil && r.Type == ruleset.Distance || r.Operation == ruleset.Greater || r.Operation == ruleset.GreaterEqual
		made.Pairs(r, func(v, reference float64) {
			if r.Type == ruleset.Distance {
				v = math.Abs(v - reference)
			}
			if !known || low == (v < worst) {
				worst, known = v, true
			}
		})
	}
	return worst, low, known
}

// count returns the lowest or highest count of a collection rule. It searches for the bound at which the rule starts to
// hold.
func count(r ruleset.Rule, low bool, made *match.Made) float64 {
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
		if made.Holds(&r, nil) != low {
			break
		}
	}
	return n
}

// party aggregates a value over the players of a ticket.
func party(t *match.Ticket, how ruleset.Aggregation, value func(*match.Player) float64) float64 {
	sum, low, high := 0.0, math.Inf(1), math.Inf(-1)
	for i := range t.Players {
		v := value(&t.Players[i])
		sum, low, high = sum+v, min(low, v), max(high, v)
	}
	switch how {
	case ruleset.Minimum:
		return low
	case ruleset.Maximum:
		return high
	}
	return sum / float64(len(t.Players))
}

// spread returns the difference between the highest and the lowest value of a numeric attribute.
func spread(r *ruleset.Rule, a ruleset.Attribute, tickets []*match.Ticket) float64 {
	low, high := math.Inf(1), math.Inf(-1)
	for _, t := range tickets {
		v := party(t, r.Party, func(p *match.Player) float64 {
			if v, ok := p.Attributes[a.Name]; ok || a.Default == nil {
				return v.N
			}
			return a.Default.N
		})
		low, high = min(low, v), max(high, v)
	}
	return high - low
}

// bestLatency returns the lowest maximum latency over all locations. ok is false if there is no location that all
// players have reported.
func bestLatency(r *ruleset.Rule, tickets []*match.Ticket) (best float64, ok bool) {
	best = math.Inf(1)
	for location := range tickets[0].Players[0].Latencies {
		highest, everywhere := 0.0, true
		for _, t := range tickets {
			highest = max(highest, party(t, r.Party, func(p *match.Player) float64 {
				ms, reported := p.Latencies[location]
				everywhere = everywhere && reported
				return float64(ms)
			}))
		}
		if everywhere {
			best = min(best, highest)
		}
	}
	return best, !math.IsInf(best, 1)
}
