package match

import (
	"math"
	"slices"

	"troupe/actors/matchmaker/ruleset"
)

// seat is one player in a team of a candidate match.
type seat struct {
	e *entry
	i int // index among the ticket's players
}

func (e *entry) seated(team []seat) []seat {
	for i := range e.n {
		team = append(team, seat{e, i})
	}
	return team
}

// candidate is a set of tickets that may become a match. If teams is set, it assigns the players to teams.
type candidate struct {
	tickets []*entry
	teams   [][]seat
}

// value is the value of an expression: a list, a number or a string.
type value struct {
	list      []value
	num       float64
	str       string
	undefined bool
}

// evaluator computes the values of expressions. It reuses its memory for every rule.
type evaluator struct {
	arena   []value
	numbers []float64
	players bool // the last expression has read a value of a player
}

func (v *evaluator) reset() { v.arena = v.arena[:0] }

func (v *evaluator) list(n int) []value {
	if len(v.arena)+n > cap(v.arena) {
		v.arena = make([]value, 0, max(256, 2*cap(v.arena), n))
	}
	at := len(v.arena)
	v.arena = v.arena[:at+n]
	return v.arena[at : at+n : at+n]
}

// eval computes an expression for a candidate. The values are valid until the next reset.
func (v *evaluator) eval(e *ruleset.Expr, c *candidate, party ruleset.Aggregation) value {
	if e.Path != nil {
		return v.path(e.Path, c, party)
	}
	arg := v.eval(e.Arg, c, party)
	depth := e.Arg.Type.Depth
	switch e.Func {
	case ruleset.Flatten:
		if depth < 2 {
			return arg
		}
		total := 0
		for _, inner := range arg.list {
			total += len(inner.list)
		}
		out := v.list(total)[:0]
		for _, inner := range arg.list {
			out = append(out, inner.list...)
		}
		return value{list: out}
	case ruleset.SetIntersection:
		return v.innermost(arg, depth-2, intersection)
	default:
		return v.innermost(arg, depth-1, func(a value) value { return v.reduce(e.Func, a) })
	}
}

func (v *evaluator) innermost(a value, levels int, f func(value) value) value {
	if levels == 0 {
		return f(a)
	}
	out := v.list(len(a.list))
	for i := range a.list {
		out[i] = v.innermost(a.list[i], levels-1, f)
	}
	return value{list: out}
}

func (v *evaluator) path(p *ruleset.Path, c *candidate, party ruleset.Aggregation) value {
	if !p.Multi {
		return v.team(p, c.teams[p.Teams[0]], party)
	}
	out := v.list(len(p.Teams))
	for i, t := range p.Teams {
		out[i] = v.team(p, c.teams[t], party)
	}
	return value{list: out}
}

func (v *evaluator) team(p *ruleset.Path, seats []seat, party ruleset.Aggregation) value {
	v.players = v.players || len(seats) > 0
	combine := party == ruleset.Union || party == ruleset.Intersection
	out := v.list(len(seats))
	n := 0
	for k := 0; k < len(seats); k++ {
		s := seats[k]
		switch {
		case p.Member == ruleset.Players:
			out[n] = value{}
		case p.Member == ruleset.PlayerID:
			out[n] = value{str: s.e.ticket.Players[s.i].ID}
		default:
			a := &s.e.values[s.i][p.Attribute]
			switch a.Type {
			case ruleset.Number:
				out[n] = value{num: pick(s.e.numbers[p.Attribute], party)}
			case ruleset.StringList:
				members := 1
				for combine && k+members < len(seats) && seats[k+members].e == s.e {
					members++
				}
				out[n] = v.combined(p.Attribute, seats[k:k+members], party)
				k += members - 1
			default:
				out[n] = value{str: a.S}
			}
		}
		n++
	}
	return value{list: out[:n]}
}

func (v *evaluator) combined(attribute int, seats []seat, party ruleset.Aggregation) value {
	lists := make([]value, 0, 1)
	for _, s := range seats {
		items := s.e.values[s.i][attribute].SL
		list := v.list(len(items))
		for i, item := range items {
			list[i] = value{str: item}
		}
		lists = append(lists, value{list: list})
	}
	if len(lists) == 1 {
		return lists[0]
	}
	if party == ruleset.Intersection {
		return intersection(value{list: lists})
	}
	var out []value
	for _, l := range lists {
		for _, item := range l.list {
			if !contains(out, item.str) {
				out = append(out, item)
			}
		}
	}
	return value{list: out}
}

func contains(list []value, s string) bool {
	for i := range list {
		if list[i].str == s {
			return true
		}
	}
	return false
}

// intersection returns the distinct values of the first list that all other lists contain.
func intersection(a value) value {
	if len(a.list) == 0 {
		return value{}
	}
	var out []value
next:
	for _, item := range a.list[0].list {
		for _, other := range a.list[1:] {
			if !contains(other.list, item.str) {
				continue next
			}
		}
		if !contains(out, item.str) {
			out = append(out, item)
		}
	}
	return value{list: out}
}

// reduce applies an aggregate function to a list. For an empty list, only sum and count have a value.
func (v *evaluator) reduce(f ruleset.Func, a value) value {
	if f == ruleset.Count {
		return value{num: float64(len(a.list))}
	}
	v.numbers = v.numbers[:0]
	sum := 0.0
	for i := range a.list {
		if !a.list[i].undefined {
			v.numbers = append(v.numbers, a.list[i].num)
			sum += a.list[i].num
		}
	}
	all, n := v.numbers, float64(len(v.numbers))
	if f == ruleset.Sum {
		return value{num: sum}
	}
	if len(all) == 0 {
		return value{undefined: true}
	}
	switch f {
	case ruleset.Min:
		return value{num: slices.Min(all)}
	case ruleset.Max:
		return value{num: slices.Max(all)}
	case ruleset.Median:
		slices.Sort(all)
		half := len(all) / 2
		if len(all)%2 == 1 {
			return value{num: all[half]}
		}
		return value{num: (all[half-1] + all[half]) / 2}
	case ruleset.Stddev:
		mean, squares := sum/n, 0.0
		for _, x := range all {
			squares += (x - mean) * (x - mean)
		}
		return value{num: math.Sqrt(squares / n)}
	}
	return value{num: sum / n}
}
