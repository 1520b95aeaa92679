package match

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"troupe/actors/matchmaker/ruleset"
)

// order sorts the candidates for anchor a by the sort rules (flexmatch.md 7.6 and 11.2). Without sort rules,
// candidates keep the order of anchors, which is by priority and age. With low backfill priority, backfill
// tickets are at the end and are not candidates of other anchors.
func (s *search) order(a *entry) {
	rules := s.sortRules(a)
	if len(rules) == 0 {
		return
	}
	b := &s.pass.batch
	high := s.pass.pool.set.Algorithm.Backfill == ruleset.BackfillHigh
	slices.SortFunc(b.order, func(x, y *entry) int {
		s.pass.pause(1)
		if i, j := x.backfill, y.backfill; high && i != j {
			return s.pass.pool.byPriority(x, y)
		}
		for _, r := range rules {
			if c := r.compare(x, y); c != 0 {
				return c
			}
		}
		return byAge(x, y)
	})
	b.arrange(s.pass.pool)
}

// sorter is a sort rule for one anchor.
type sorter struct {
	rule   *ruleset.Rule
	t      ruleset.AttributeType
	anchor *entry
	key    string  // key in map attributes
	at     float64 // value of the anchor
}

func (s *search) sortRules(a *entry) []sorter {
	var all []sorter
	for _, r := range s.pass.pool.set.Rules {
		if !r.Type.IsSort() {
			continue
		}
		o := sorter{rule: r, t: s.pass.pool.set.Attributes[r.Attribute].Type, anchor: a}
		if o.t == ruleset.StringNumberMap {
			o.key = mapKey(a.values[0][r.Attribute].SDM, r.MapKey == "maxValue")
		}
		o.at, _ = o.number(a)
		all = append(all, o)
	}
	return all
}

// mapKey returns the key with the lowest or highest value. If several keys have it, mapKey returns the
// smallest key.
func mapKey(m map[string]float64, highest bool) string {
	best, key := math.Inf(1), ""
	for k, v := range m {
		if highest {
			v = -v
		}
		if v < best || v == best && k < key {
			best, key = v, k
		}
	}
	return key
}

// number returns the number of a ticket by which the rule sorts. It returns false if the ticket has none.
func (o *sorter) number(e *entry) (float64, bool) {
	if o.t == ruleset.Number {
		return pick(e.numbers[o.rule.Attribute], o.rule.Party), true
	}
	var all []float64
	for i := range e.values {
		if v, ok := e.values[i][o.rule.Attribute].SDM[o.key]; ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0, false
	}
	return pick(aggregate(len(all), func(i int) float64 { return all[i] }), o.rule.Party), true
}

// compare orders two candidates. Tickets without a value come last, in either direction.
func (o *sorter) compare(x, y *entry) int {
	distance := o.rule.Type == ruleset.DistanceSort
	c := 0
	if o.t == ruleset.String {
		a, b, at := x.values[0][o.rule.Attribute].S, y.values[0][o.rule.Attribute].S, o.anchor.values[0][o.rule.Attribute].S
		if c = strings.Compare(a, b); distance {
			c = cmp.Compare(differs(a, at), differs(b, at))
		}
	} else {
		a, hasA := o.number(x)
		b, hasB := o.number(y)
		if !hasA || !hasB {
			return cmp.Compare(differs(hasA, true), differs(hasB, true))
		}
		if c = cmp.Compare(a, b); distance {
			c = cmp.Compare(math.Abs(a-o.at), math.Abs(b-o.at))
		}
	}
	if o.rule.Descending {
		return -c
	}
	return c
}

func differs[T comparable](a, b T) int {
	if a == b {
		return 0
	}
	return 1
}
