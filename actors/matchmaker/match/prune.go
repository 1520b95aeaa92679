package match

import (
	"math"
	"slices"

	"troupe/actors/matchmaker/ruleset"
)

// plan contains the rules of a stage for complete candidates, and versions of them that can reject incomplete
// candidates (flexmatch.md 8). The latter use the loosest values of all stages that the candidate may still
// reach, because adding tickets may change the age that counts.
type plan struct {
	teams []ruleset.Team
	rules []*ruleset.Rule // all rules of the stage; compound statements refer to them by index

	room     []int // by team: maximum number of players at any reachable stage
	maxTotal int   // maximum number of players of a match at any reachable stage, without AdditionalPlayers
	minTotal int   // minimum number of players of a match at any reachable stage

	seats, filled int // maximum (seats) and minimum (filled) number of players of a match at this stage alone

	// pruning has, by index, the part of each rule's loosest version that can reject early (antiMonotone), or
	// nil. Compound statements refer to it.
	pruning []*ruleset.Rule
	ranges  []rangeRule                  // the range rules; the list has the same rules at all stages
	latency *ruleset.Rule                // nil if no latency rule can reject early
	early   [byTeams + 1][]*ruleset.Rule // rules that can reject early, by decider
}

// rangeRule requires that the values of all tickets differ by at most max.
type rangeRule struct {
	rule      int
	attribute int
	party     ruleset.Aggregation
	max       float64 // +Inf if the rule cannot reject early
}

// makePlans computes the plans of all stages.
func (p *Pool) makePlans() {
	stages := p.set.Stages
	p.plans = make([]plan, len(stages))
	p.latency = -1
	var ranges []rangeRule
	for _, r := range stages[0].Rules {
		if attribute, ok := rangeOf(r, p.set.Attributes); ok && r.Enforced() {
			ranges = append(ranges, rangeRule{r.Index, attribute, r.Party, math.Inf(1)})
		}
		if r.Type == ruleset.Latency && r.Enforced() && r.MaxLatency != nil && p.latency < 0 {
			p.latency = r.Index
		}
		p.dependent = append(p.dependent, dependent(r, stages))
		p.weights = append(p.weights, p.weight(r))
	}
	p.ranges = len(ranges)
	var loosest []*ruleset.Rule // nil for a rule that cannot reject early
	var room, least []int
	for k := range stages {
		i := k // with newest, adding a ticket can only lead to an earlier stage
		if p.set.Algorithm.ExpansionAge == ruleset.Oldest {
			i = len(stages) - 1 - k
		}
		s := &stages[i]
		if k == 0 {
			loosest = append(loosest, s.Rules...)
			for _, t := range s.Teams {
				room, least = append(room, t.Max), append(least, t.Min)
			}
		} else {
			loosest, room, least = slices.Clone(loosest), slices.Clone(room), slices.Clone(least)
			for j, r := range s.Rules {
				loosest[j] = looser(loosest[j], r)
			}
			for j, t := range s.Teams {
				room[j], least[j] = max(room[j], t.Max), min(least[j], t.Min)
			}
		}
		p.plans[i] = p.makePlan(s, loosest, ranges, room, least)
	}
}

// weight returns the number of expressions of a rule. For a compound rule it is the sum over the member
// rules, whose weights must already be known.
func (p *Pool) weight(r *ruleset.Rule) (n int) {
	if r.Type == ruleset.Compound {
		for _, i := range r.Statement.Leaves() {
			n += p.weights[i]
		}
		return n
	}
	if n = max(1, len(r.Measurements)); r.Reference != nil {
		n++
	}
	return n
}

func (p *Pool) makePlan(s *ruleset.Stage, loosest []*ruleset.Rule, ranges []rangeRule, room, least []int) plan {
	out := plan{teams: s.Teams, rules: s.Rules, room: room, maxTotal: -p.options.AdditionalPlayers}
	out.seats = out.maxTotal
	for i, t := range s.Teams {
		out.maxTotal, out.minTotal = out.maxTotal+room[i], out.minTotal+least[i]
		out.seats, out.filled = out.seats+t.Max, out.filled+t.Min
	}
	for _, r := range ranges {
		if l := loosest[r.rule]; l != nil && l.Party == r.party {
			r.max = *l.MaxDistance + tolerance
		}
		out.ranges = append(out.ranges, r)
	}
	for _, r := range loosest {
		if r != nil {
			r = antiMonotone(r)
		}
		out.pruning = append(out.pruning, r)
	}
	for _, r := range loosest {
		if r == nil || !r.Enforced() {
			continue
		}
		if r.Index == p.latency {
			out.latency = r
		}
		if r.Type == ruleset.Compound {
			for _, part := range out.conjuncts(r.Statement) {
				early := *r
				early.Statement = part
				by := p.decidedBy(part, out.pruning)
				out.early[by] = append(out.early[by], &early)
			}
			continue
		}
		if r = out.pruning[r.Index]; r == nil {
			continue
		}
		if _, ok := rangeOf(r, p.set.Attributes); ok {
			continue // it is in ranges already
		}
		by := p.decidedBy(&ruleset.Statement{Rule: r.Index}, out.pruning)
		out.early[by] = append(out.early[by], r)
	}
	return out
}

// decider is the part of a candidate on which the result of a rule depends.
type decider int

const (
	byTicket decider = iota // one ticket alone
	bySet                   // a set of tickets, without assignment to teams
	byTeams                 // tickets with assignment to teams
)

// decidedBy returns the decider of a statement all of whose rules are in pruning.
func (p *Pool) decidedBy(s *ruleset.Statement, pruning []*ruleset.Rule) (by decider) {
	for _, i := range s.Leaves() {
		switch r := pruning[i]; {
		case p.dependent[i]:
			return byTeams
		case r.Type == ruleset.Collection || r.Reference == nil || !r.Reference.Literal:
			by = bySet
		}
	}
	return by
}

// conjuncts returns parts of a compound statement that must all hold. If one of them is violated, adding
// tickets cannot make it hold.
func (at *plan) conjuncts(s *ruleset.Statement) (parts []*ruleset.Statement) {
	if s.Op == "and" {
		for _, a := range s.Args {
			parts = append(parts, at.conjuncts(a)...)
		}
		return parts
	}
	if s = at.loosened(s); s != nil {
		parts = append(parts, s)
	}
	return parts
}

// loosened returns a statement that holds if s holds, or if s can be made to hold by adding tickets. It
// returns nil if that is always the case. The result is nil for not and xor, because a ticket that violates
// an operand can make them hold.
func (at *plan) loosened(s *ruleset.Statement) *ruleset.Statement {
	out := &ruleset.Statement{Op: s.Op, Rule: s.Rule}
	switch s.Op {
	case "":
		if at.pruning[s.Rule] == nil {
			return nil
		}
		return out
	case "and", "or":
		for _, a := range s.Args {
			if a = at.loosened(a); a != nil {
				out.Args = append(out.Args, a)
			} else if s.Op == "or" {
				return nil
			}
		}
		if len(out.Args) > 0 {
			return out
		}
	}
	return nil
}

// looser returns a rule that holds whenever a or b holds, or nil. a and b are two versions of the same rule.
func looser(a, b *ruleset.Rule) *ruleset.Rule {
	if a == nil || a == b {
		return a
	}
	if a.Operation != b.Operation || a.Party != b.Party || a.Reference != b.Reference || a.DistanceReference != b.DistanceReference {
		return nil
	}
	out := *a
	for _, f := range []struct{ to, a, b **float64 }{
		{&out.MaxDistance, &a.MaxDistance, &b.MaxDistance}, {&out.MaxCount, &a.MaxCount, &b.MaxCount}, {&out.MaxLatency, &a.MaxLatency, &b.MaxLatency},
	} {
		if *f.a != nil && **f.b > **f.a {
			*f.to = *f.b
		}
	}
	for _, f := range []struct{ to, a, b **float64 }{{&out.MinDistance, &a.MinDistance, &b.MinDistance}, {&out.MinCount, &a.MinCount, &b.MinCount}} {
		if *f.a != nil && **f.b < **f.a {
			*f.to = *f.b
		}
	}
	return &out
}

// raw reports whether the values of an expression are unmodified values of players.
func raw(e *ruleset.Expr) bool {
	for e.Func == ruleset.Flatten {
		e = e.Arg
	}
	return e.Path != nil
}

// whole reports whether an expression is the flattened list of values of all players of the match.
func whole(e *ruleset.Expr) bool {
	return e.Func == ruleset.Flatten && e.Arg.Path != nil && e.Arg.Path.All
}

// rangeOf reports whether a rule limits the range (max - min) of a number attribute over all tickets, and
// returns the index of the attribute.
func rangeOf(r *ruleset.Rule, attributes []ruleset.Attribute) (attribute int, ok bool) {
	if r.Type == ruleset.BatchDistance {
		return r.Attribute, attributes[r.Attribute].Type == ruleset.Number
	}
	if x := spread(r); x != nil && whole(x) {
		return x.Arg.Path.Attribute, true
	}
	return 0, false
}

// spread returns the list whose range (max - min) the rule limits, or nil.
func spread(r *ruleset.Rule) *ruleset.Expr {
	if r.Type != ruleset.Distance || r.MaxDistance == nil || r.MinDistance != nil || len(r.Measurements) != 1 || r.Reference.Expr == nil {
		return nil
	}
	a, b := r.Measurements[0], r.Reference.Expr
	if !(a.Func == ruleset.Max && b.Func == ruleset.Min || a.Func == ruleset.Min && b.Func == ruleset.Max) || !same(a.Arg, b.Arg) {
		return nil
	}
	if x := a.Arg; raw(x) && x.Type.Depth == 1 {
		return x
	}
	return nil
}

func same(a, b *ruleset.Expr) bool {
	if a.Func != b.Func || (a.Path == nil) != (b.Path == nil) {
		return false
	}
	if a.Path == nil {
		return same(a.Arg, b.Arg)
	}
	x, y := a.Path, b.Path
	return slices.Equal(x.Teams, y.Teams) && x.Multi == y.Multi && x.Attribute == y.Attribute && x.Member == y.Member
}

// antiMonotone returns the part of a rule that can reject incomplete candidates: once it is violated, adding
// tickets cannot make it hold. The result is nil if there is no such part.
func antiMonotone(r *ruleset.Rule) *ruleset.Rule {
	out := *r
	switch r.Type {
	case ruleset.BatchDistance:
		return &out
	case ruleset.Comparison, ruleset.Distance:
		if spread(r) != nil {
			return &out
		}
		if r.Reference != nil && !r.Reference.Literal {
			return nil
		}
		if slices.ContainsFunc(r.Measurements, func(m *ruleset.Expr) bool { return !raw(m) }) {
			return nil
		}
		return &out
	case ruleset.Collection:
		return antiMonotoneCollection(&out)
	}
	return nil
}

func antiMonotoneCollection(r *ruleset.Rule) *ruleset.Rule {
	lists := true // every collection is the list of one player or party, so adding tickets does not change it
	for _, m := range r.Measurements {
		if !raw(m) {
			return nil
		}
		depth := m.Type.Depth
		if m.Type.PerTeam {
			depth--
		}
		lists = lists && depth == 2
	}
	switch {
	case r.Operation == ruleset.Intersect && lists:
		r.MaxCount = nil
	case r.Operation == ruleset.ReferenceCount && lists && r.Reference.Literal:
	case r.Operation == ruleset.ReferenceCount && lists && shrinks(r.Reference.Expr):
		r.MaxCount = nil
	case r.Operation == ruleset.ReferenceCount && !r.Reference.Literal && !raw(r.Reference.Expr):
		return nil
	default:
		r.MinCount = nil
	}
	if r.MinCount == nil && r.MaxCount == nil {
		return nil
	}
	return r
}

// shrinks reports whether an expression is an intersection of lists of single players. Adding tickets can
// only make it smaller.
func shrinks(e *ruleset.Expr) bool {
	return e != nil && e.Func == ruleset.SetIntersection && raw(e.Arg) && e.Arg.Type.Depth == 2 && !e.Arg.Type.PerTeam
}

// dependent reports whether the result of a rule depends on the assignment to teams, at any stage.
func dependent(r *ruleset.Rule, stages []ruleset.Stage) bool {
	for i := range stages {
		s := stages[i].Rules[r.Index]
		if i > 0 && s == stages[i-1].Rules[r.Index] && s.Type != ruleset.Compound {
			continue
		}
		if s.Type == ruleset.Compound {
			return slices.ContainsFunc(s.Statement.Leaves(), func(i int) bool { return dependent(stages[0].Rules[i], stages) })
		}
		literal := s.Type != ruleset.Collection && s.Reference != nil && s.Reference.Literal
		for _, m := range s.Measurements {
			if !wholeMatch(m) && !(literal && m.Path != nil && m.Path.All) {
				return true
			}
		}
		if s.Reference != nil && s.Reference.Expr != nil && !wholeMatch(s.Reference.Expr) {
			return true
		}
	}
	return false
}

// wholeMatch reports whether an expression has the same value for every assignment to teams.
func wholeMatch(e *ruleset.Expr) bool {
	for ; e != nil; e = e.Arg {
		if whole(e) {
			return true
		}
	}
	return false
}
