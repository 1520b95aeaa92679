package match

import (
	"math"
	"math/rand/v2"
	"slices"

	"troupe/actors/matchmaker/ruleset"
)

const (
	// firstTry is the number of evaluations of the first search, before repair. It is enough to find easy
	// matches.
	firstTry = 2_000
	// repairBudget is the maximum number of evaluations of repair for one anchor.
	repairBudget = 8_000
)

// repairing is a local search for a match with an anchor. Rules that require something, such as a healer in
// each team, cannot reject incomplete sets. The depth-first search would try all sets of the oldest tickets
// before it tries one with a younger healer. The local search starts with any set that no rule rejects, and
// exchanges tickets as long as that reduces the gap (see gap).
type repairing struct {
	s      *search
	until  int // value of search.work at which to stop
	others []*entry
	c      candidate
	stage  int
	room   []int // maximum number of players in this round, by team
}

// repair searches for a match of anchor a with the candidates in root. It reports whether it found one.
func (s *search) repair(a *entry, root *level) bool {
	begun := s.work
	defer func() { s.repaired += s.work - begun }()
	r := &repairing{s: s, until: s.work + min(repairBudget, s.pass.repairs), c: candidate{teams: make([][]seat, len(s.pass.pool.set.Teams))}}
	for rest := root.rest; !rest.empty(); {
		i := rest.first()
		rest.drop(i)
		r.others = append(r.others, s.pass.batch.order[i])
	}
	rng := rand.New(rand.NewPCG(a.arrival, uint64(s.pass.now.UnixNano())))
	for round := 0; s.work < r.until; round++ {
		if round > 1 { // the first two rounds prefer the oldest tickets
			rng.Shuffle(len(r.others), func(i, j int) { r.others[i], r.others[j] = r.others[j], r.others[i] })
		}
		r.spend(len(r.others) / 4)
		if r.gather(a, round%2 == 0) && r.climb() {
			s.best = found{players: countPlayers(r.c.tickets), stage: r.stage, tickets: r.c.tickets, teams: r.c.teams}
			return true
		}
	}
	return false
}

func countPlayers(tickets []*entry) (n int) {
	for _, e := range tickets {
		n += e.n
	}
	return n
}

// spend adds work that check does not count.
func (r *repairing) spend(n int) {
	r.s.work += 1 + n
	r.s.pass.pause(1 + n)
}

// gather builds a set of tickets, assigned to teams, that no rule rejects. If full is true, it fills the
// teams as far as possible, otherwise to their minimum.
func (r *repairing) gather(a *entry, full bool) bool {
	p := r.s.pass.pool
	teams := p.plans[a.stage].teams
	r.room = r.room[:0]
	for _, t := range teams {
		if full {
			r.room = append(r.room, t.Max)
		} else {
			r.room = append(r.room, t.Min)
		}
	}
	r.c.tickets = nil
	for i := range r.c.teams {
		r.c.teams[i] = nil
	}
	if !r.add(a) {
		return false
	}
	for _, e := range r.others {
		if r.s.work >= r.until {
			return false
		}
		r.add(e)
	}
	return reachMinimum(teams, r.c.teams) && (len(r.c.tickets) > 1 || !a.backfill)
}

// add adds a ticket to the first team for which no rule rejects the set.
func (r *repairing) add(e *entry) bool {
	limit := min(r.s.limit, e.room())
	for _, o := range r.c.tickets {
		limit = min(limit, o.room())
	}
	if countPlayers(r.c.tickets)+e.n > limit {
		return false
	}
	r.c.tickets = append(r.c.tickets, e)
	if e.teams != nil {
		for i, t := range e.teams {
			r.c.teams[t] = append(r.c.teams[t], seat{e, i})
		}
		if r.allowed() {
			return true
		}
		for _, t := range e.teams {
			r.c.teams[t] = r.c.teams[t][:len(r.c.teams[t])-1]
		}
	} else {
		for _, t := range r.roomy(e.n) {
			seats := len(r.c.teams[t])
			r.c.teams[t] = e.seated(r.c.teams[t])
			if r.allowed() {
				return true
			}
			r.c.teams[t] = r.c.teams[t][:seats]
		}
	}
	r.c.tickets = r.c.tickets[:len(r.c.tickets)-1]
	return false
}

// roomy returns the teams with room for n players, those with most room first.
func (r *repairing) roomy(n int) []int {
	order := make([]int, 0, len(r.room))
	for t := range r.room {
		if r.room[t]-len(r.c.teams[t]) >= n {
			order = append(order, t)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return (r.room[b] - len(r.c.teams[b])) - (r.room[a] - len(r.c.teams[a]))
	})
	return order
}

// allowed reports whether the set can be part of a match. It checks locations, players, backfill, and the
// rules whose violation cannot be repaired by adding tickets.
func (r *repairing) allowed() bool {
	s, p := r.s, r.s.pass.pool
	r.spend(len(r.c.tickets) / 8)
	last := r.c.tickets[len(r.c.tickets)-1]
	mask, backfill := uint64(math.MaxUint64), 0
	r.stage = r.c.tickets[0].stage
	for _, e := range r.c.tickets {
		mask &= e.mask
		if e.backfill {
			backfill++
		}
		r.stage = p.younger(r.stage, e.stage)
		if e != last && sharesPlayer(e, last) {
			return false
		}
	}
	if mask == 0 || backfill > 1 {
		return false
	}
	at := &p.plans[r.stage]
	for i := range at.ranges {
		low, high := math.Inf(1), math.Inf(-1)
		for _, e := range r.c.tickets {
			low, high = min(low, e.keys[i]), max(high, e.keys[i])
		}
		if high-low > at.ranges[i].max {
			return false
		}
	}
	for _, rules := range at.early[bySet:] {
		for _, rule := range rules {
			if !s.check(rule, at.pruning, &r.c) {
				return false
			}
		}
	}
	return true
}

// climb exchanges tickets as long as that reduces the gap. It reports whether the result is a match.
func (r *repairing) climb() bool {
	for left := r.gap(); left > 0; {
		better := r.step(left)
		if better == left {
			return false
		}
		left = better
	}
	at := &r.s.pass.pool.plans[r.stage]
	players := countPlayers(r.c.tickets)
	for t, seats := range r.c.teams {
		if len(seats) < at.teams[t].Min || len(seats) > at.teams[t].Max {
			return false
		}
	}
	return players <= at.maxTotal
}

// step makes the first exchange that reduces the gap below left, and returns the new gap. If there is none,
// it returns left.
func (r *repairing) step(left float64) float64 {
	for i := 1; i < len(r.c.tickets); i++ { // the anchor is never exchanged
		e := r.c.tickets[i]
		if e.teams != nil {
			continue
		}
		for _, o := range r.c.tickets[1:i] {
			if o.teams == nil && o.n == e.n && r.teamOf(o) != r.teamOf(e) {
				exchange := func() { r.exchange(e, o) }
				if now, ok := r.try(exchange, exchange, left); ok {
					return now
				}
			}
			if r.s.work >= r.until {
				return left
			}
		}
		for _, o := range r.others {
			if o.n != e.n || o.teams != nil || slices.Contains(r.c.tickets, o) {
				continue
			}
			if now, ok := r.try(func() { r.replace(e, o) }, func() { r.replace(o, e) }, left); ok {
				return now
			}
			if r.s.work >= r.until {
				return left
			}
		}
	}
	return left
}

// try makes a change. If the result is not allowed or does not reduce the gap, it reverts the change.
func (r *repairing) try(change, back func(), left float64) (now float64, ok bool) {
	tickets := slices.Clone(r.c.tickets)
	change()
	if r.allowed() {
		if now = r.gap(); now < left-tolerance {
			return now, true
		}
	}
	back()
	r.c.tickets = tickets
	r.stage = tickets[0].stage
	for _, e := range tickets {
		r.stage = r.s.pass.pool.younger(r.stage, e.stage)
	}
	return left, false
}

// replace replaces ticket e by o. o becomes the last ticket, because allowed compares the players of the last
// ticket with those of all others.
func (r *repairing) replace(e, o *entry) {
	swap(r.c.teams[r.teamOf(e)], e, o)
	k := slices.Index(r.c.tickets, e)
	r.c.tickets = append(slices.Delete(r.c.tickets, k, k+1), o)
}

// exchange swaps the teams of two tickets of the same size.
func (r *repairing) exchange(a, b *entry) {
	x, y := r.c.teams[r.teamOf(a)], r.c.teams[r.teamOf(b)]
	swap(x, a, b)
	swap(y, b, a)
}

func (r *repairing) teamOf(e *entry) int {
	return slices.IndexFunc(r.c.teams, func(seats []seat) bool {
		return slices.ContainsFunc(seats, func(s seat) bool { return s.e == e })
	})
}

// gap returns how far the set is from satisfying all rules. 0 means that it satisfies them.
func (r *repairing) gap() float64 {
	s, p := r.s, r.s.pass.pool
	at := &p.plans[r.stage]
	sum := 0.0
	for _, rule := range at.rules {
		if !rule.Enforced() {
			continue
		}
		r.spend(p.weights[rule.Index] / free)
		g := s.eval.gap(rule, at.rules, p.set.Attributes, &r.c)
		s.count(rule, g == 0)
		sum += g
	}
	return sum
}

// gap returns how far a candidate is from satisfying a rule. It is 0 if the rule holds, and otherwise between
// 1 and 2 for each violated part of the rule.
func (v *evaluator) gap(r *ruleset.Rule, rules []*ruleset.Rule, attributes []ruleset.Attribute, c *candidate) float64 {
	if r.Type == ruleset.Compound {
		return v.statementGap(r.Statement, rules, attributes, c)
	}
	if v.holds(r, rules, attributes, c) {
		return 0
	}
	far := 0.0
	if r.Type == ruleset.Comparison || r.Type == ruleset.Distance || r.Type == ruleset.Collection {
		v.reset()
		ref, seen := v.reference(r, c)
		for _, m := range r.Measurements {
			got := v.eval(m, c, r.Party)
			switch {
			case r.Type == ruleset.Collection:
				far += collectionGap(r, m.Type, got, ref, seen)
			case r.Reference == nil:
				far++
			default:
				each(got, m.Type.Depth, func(a value) bool {
					return each(ref, refDepth(r.Reference), func(b value) bool {
						far += scalarGap(r, m.Type.Elem, a, b)
						return true
					})
				})
			}
		}
	}
	return 1 + far/(1+far)
}

func (v *evaluator) statementGap(s *ruleset.Statement, rules []*ruleset.Rule, attributes []ruleset.Attribute, c *candidate) float64 {
	sum, least := 0.0, math.Inf(1)
	switch s.Op {
	case "":
		return v.gap(rules[s.Rule], rules, attributes, c)
	case "and", "or":
		for _, a := range s.Args {
			g := v.statementGap(a, rules, attributes, c)
			sum, least = sum+g, min(least, g)
		}
		if s.Op == "or" {
			return least
		}
		return sum
	}
	if v.statement(s, rules, attributes, c) {
		return 0
	}
	return 1
}

func scalarGap(r *ruleset.Rule, elem ruleset.Elem, a, b value) float64 {
	d := math.Abs(a.num - b.num)
	switch {
	case r.Type == ruleset.Distance && r.MaxDistance != nil && d > *r.MaxDistance+tolerance:
		return d - *r.MaxDistance
	case r.Type == ruleset.Distance && r.MinDistance != nil && d < *r.MinDistance-tolerance:
		return *r.MinDistance - d
	case r.Type == ruleset.Distance || compare(r.Operation, elem, a, b):
		return 0
	case elem == ruleset.StringElem:
		return 1
	}
	return d
}

// collectionGap is the gap that corresponds to collectionHolds.
func collectionGap(r *ruleset.Rule, t ruleset.Type, a, ref value, seen bool) (far float64) {
	if t.PerTeam || t.Depth > 2 {
		inner := ruleset.Type{Elem: t.Elem, Depth: t.Depth - 1}
		for i := range a.list {
			far += collectionGap(r, inner, a.list[i], ref, seen)
		}
		return far
	}
	if collectionHolds(r, t, a, ref, seen) {
		return 0
	}
	if r.Operation != ruleset.Contains {
		return 1
	}
	n := float64(containing(t, a, ref))
	if r.MinCount != nil && n < *r.MinCount {
		return *r.MinCount - n
	}
	return n - *r.MaxCount
}
