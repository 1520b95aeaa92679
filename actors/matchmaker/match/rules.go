package match

import (
	"math"

	"troupe/actors/matchmaker/ruleset"
)

// tolerance is how much a distance may exceed its limit (flexmatch.md 7.2).
const tolerance = 1e-9

// holds reports whether a rule holds for a candidate. rules are all rules of the same stage; compound
// statements refer to them.
func (v *evaluator) holds(r *ruleset.Rule, rules []*ruleset.Rule, attributes []ruleset.Attribute, c *candidate) bool {
	switch r.Type {
	case ruleset.Compound:
		return v.statement(r.Statement, rules, attributes, c)
	case ruleset.Latency:
		return latencyHolds(r, c.tickets)
	case ruleset.BatchDistance:
		return batchHolds(r, attributes[r.Attribute].Type, c.tickets)
	case ruleset.DistanceSort, ruleset.AbsoluteSort:
		return true
	}
	v.reset()
	ref, seen := v.reference(r, c)
	for _, m := range r.Measurements {
		got := v.eval(m, c, r.Party)
		ok := false
		switch {
		case r.Type == ruleset.Collection:
			ok = collectionHolds(r, m.Type, got, ref, seen)
		case r.Reference == nil:
			ok = compareWithin(r.Operation, m.Type, got)
		default:
			ok = each(got, m.Type.Depth, func(a value) bool {
				return each(ref, refDepth(r.Reference), func(b value) bool {
					if r.Type == ruleset.Distance {
						return distanceHolds(r, a.num, b.num)
					}
					return compare(r.Operation, m.Type.Elem, a, b)
				})
			})
		}
		if !ok {
			return false
		}
	}
	return true
}

func refDepth(r *ruleset.Reference) int {
	if r.Expr == nil {
		return 0
	}
	return r.Expr.Type.Depth
}

// reference evaluates a referenceValue. seen reports whether the value depends on any player; it is also true
// for a literal.
func (v *evaluator) reference(r *ruleset.Rule, c *candidate) (ref value, seen bool) {
	switch x := r.Reference; {
	case x == nil:
		return ref, true
	case x.Expr != nil:
		v.players = false
		ref = v.eval(x.Expr, c, r.Party)
		return ref, v.players
	case x.Number != nil:
		return value{num: *x.Number}, true
	case x.Text != nil:
		return value{str: *x.Text}, true
	default:
		list := v.list(len(x.Texts))
		for i, s := range x.Texts {
			list[i] = value{str: s}
		}
		return value{list: list}, true
	}
}

// each calls f for each defined scalar in a nested list, until f returns false.
func each(a value, depth int, f func(value) bool) bool {
	if depth == 0 {
		return a.undefined || f(a)
	}
	for i := range a.list {
		if !each(a.list[i], depth-1, f) {
			return false
		}
	}
	return true
}

func compare(op string, elem ruleset.Elem, a, b value) bool {
	if elem == ruleset.StringElem {
		return (a.str == b.str) == (op == ruleset.Equal)
	}
	switch op {
	case ruleset.Less:
		return a.num < b.num
	case ruleset.LessEqual:
		return a.num <= b.num
	case ruleset.Equal:
		return a.num == b.num
	case ruleset.NotEqual:
		return a.num != b.num
	case ruleset.Greater:
		return a.num > b.num
	}
	return a.num >= b.num
}

// compareWithin evaluates a comparison without a referenceValue: all values of each innermost list must be
// equal, or all must be different.
func compareWithin(op string, t ruleset.Type, a value) bool {
	if t.Depth == 0 {
		return true
	}
	if t.Depth > 1 {
		inner := t
		inner.Depth--
		for i := range a.list {
			if !compareWithin(op, inner, a.list[i]) {
				return false
			}
		}
		return true
	}
	for i := range a.list {
		for j := range i {
			if a.list[i].undefined || a.list[j].undefined {
				continue
			}
			if !compare(op, t.Elem, a.list[i], a.list[j]) {
				return false
			}
		}
	}
	return true
}

func distanceHolds(r *ruleset.Rule, a, b float64) bool {
	d := math.Abs(a - b)
	return (r.MinDistance == nil || d >= *r.MinDistance-tolerance) && (r.MaxDistance == nil || d <= *r.MaxDistance+tolerance)
}

func countHolds(r *ruleset.Rule, n int) bool {
	return (r.MinCount == nil || float64(n) >= *r.MinCount) && (r.MaxCount == nil || float64(n) <= *r.MaxCount)
}

// collectionHolds evaluates a collection rule for one measurement. If the measurement has one list per team,
// the rule must hold for each team.
func collectionHolds(r *ruleset.Rule, t ruleset.Type, a, ref value, seen bool) bool {
	if t.PerTeam || t.Depth > 2 {
		inner := ruleset.Type{Elem: t.Elem, Depth: t.Depth - 1}
		for i := range a.list {
			if !collectionHolds(r, inner, a.list[i], ref, seen) {
				return false
			}
		}
		return true
	}
	collections := a.list // a list of lists; a plain list counts as one collection
	if t.Depth == 1 {
		collections = []value{a}
	}
	switch r.Operation {
	case ruleset.Intersect:
		return len(a.list) == 0 || countHolds(r, len(intersection(value{list: collections}).list))
	case ruleset.Contains:
		return countHolds(r, containing(t, a, ref))
	}
	if !seen {
		return true
	}
	for _, one := range collections {
		if len(a.list) > 0 && !countHolds(r, countIn(one.list, ref, max(refDepth(r.Reference), 1))) {
			return false
		}
	}
	return true
}

// containing counts the elements of a list that equal a text, or that are lists containing it.
func containing(t ruleset.Type, a, text value) (n int) {
	for i := range a.list {
		if t.Depth == 1 && a.list[i].str == text.str || t.Depth == 2 && contains(a.list[i].list, text.str) {
			n++
		}
	}
	return n
}

// countIn counts the distinct values of a list that are also in the reference.
func countIn(list []value, ref value, depth int) int {
	n := 0
	for i := range list {
		if !contains(list[:i], list[i].str) && !each(ref, depth, func(b value) bool { return b.str != list[i].str }) {
			n++
		}
	}
	return n
}

// latencyHolds evaluates a latency rule (flexmatch.md 7.4): there must be a location that satisfies it for
// all tickets.
func latencyHolds(r *ruleset.Rule, tickets []*entry) bool {
next:
	for _, first := range tickets[0].reports {
		sum, low := 0.0, math.Inf(1)
		for _, e := range tickets {
			ms, ok := e.latencyTo(first.id, r.Party)
			if !ok || r.MaxLatency != nil && ms > *r.MaxLatency {
				continue next
			}
			sum, low = sum+ms, min(low, ms)
		}
		if r.MaxDistance == nil {
			return true
		}
		ref := low
		if r.DistanceReference == ruleset.Average {
			ref = sum / float64(len(tickets))
		}
		for _, e := range tickets {
			if ms, _ := e.latencyTo(first.id, r.Party); math.Abs(ms-ref) > *r.MaxDistance+tolerance {
				continue next
			}
		}
		return true
	}
	return false
}

func (e *entry) latencyTo(id int, party ruleset.Aggregation) (float64, bool) {
	for i := range e.reports {
		if e.reports[i].id == id {
			return pick(e.reports[i].ms, party), true
		}
	}
	return 0, false
}

func batchHolds(r *ruleset.Rule, t ruleset.AttributeType, tickets []*entry) bool {
	if t == ruleset.String {
		want := tickets[0].values[0][r.Attribute].S
		for _, e := range tickets {
			for i := range e.values {
				if e.values[i][r.Attribute].S != want {
					return false
				}
			}
		}
		return true
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, e := range tickets {
		n := pick(e.numbers[r.Attribute], r.Party)
		low, high = min(low, n), max(high, n)
	}
	return high-low <= *r.MaxDistance+tolerance
}

func (v *evaluator) statement(s *ruleset.Statement, rules []*ruleset.Rule, attributes []ruleset.Attribute, c *candidate) bool {
	switch s.Op {
	case "and", "or": // an argument that is false decides an and, and one that is true decides an or
		for _, a := range s.Args {
			if holds := v.statement(a, rules, attributes, c); holds == (s.Op == "or") {
				return holds
			}
		}
		return s.Op == "and"
	case "xor":
		return v.statement(s.Args[0], rules, attributes, c) != v.statement(s.Args[1], rules, attributes, c)
	case "not":
		return !v.statement(s.Args[0], rules, attributes, c)
	}
	return v.holds(rules[s.Rule], rules, attributes, c)
}
