package match

import (
	"math"
	"slices"

	"troupe/actors/matchmaker/ruleset"
)

// search finds the best match for an anchor (flexmatch.md 11.2). It is a depth-first search over sets of
// tickets, in the order of candidates: sets that contain a candidate are tried before those without it. So of
// all complete sets of a size, the first one found is the one that the specification prefers.
type search struct {
	pass *Pass
	eval evaluator

	work, budget int
	repaired     int  // the part of work that repair used
	exact        bool // the result must be exact
	weight       int  // weight of evaluated rules that is not yet added to work
	stopped      bool // the budget is spent
	unproven     bool // some sets were not tried, so finding nothing does not prove that there is no match
	limit        int  // maximum number of players of the match
	need         int  // minimum number of players of the match
	tickets      []*entry
	levels       []*level
	crowd        candidate
	teams        assignment
	best         found
	counts       []RuleCount
	sizes        []int
}

// level is the state of the search after one more ticket was added.
type level struct {
	rest      set // the candidates that can still be added
	low, high []float64
	stage     int
	players   int
	most      int // maximum number of players that can still be added
	room      int // maximum number of players of the match because of its backfill ticket
	mask      uint64
	backfill  bool
}

// found is the best match so far.
type found struct {
	players int
	stage   int
	tickets []*entry
	teams   [][]seat
}

// run searches for a match with anchor a. If it finds one, it emits the match.
func (s *search) run(a *entry) {
	p, b := s.pass.pool, &s.pass.batch
	s.repaired = 0
	s.work, s.stopped, s.unproven, s.budget, s.exact = 0, false, false, max(fewest, min(anchorBudget, s.pass.spare)), false
	s.best.players = 0
	for i := range s.counts {
		s.counts[i].Passed, s.counts[i].Failed = 0, 0
	}
	if b.removals != p.removals {
		b.live(p)
	}
	s.pass.pause(1)
	s.order(a)
	at := &p.plans[a.stage]
	s.limit, s.need = min(at.maxTotal, a.room()), at.minTotal
	root := s.level(0)
	root.rest = s.candidates(a)
	root.stage, root.players, root.mask, root.backfill, root.room = a.stage, a.n, a.mask, a.backfill, a.room()
	s.work++
	if s.canReach(a, root) {
		if len(b.order) <= exactTickets {
			s.budget, s.exact = min(exactBudget, max(s.pass.budget-s.pass.work, s.budget)), true
		}
		root.most = s.limit
		copy(root.low, a.keys)
		copy(root.high, a.keys)
		s.tickets = append(s.tickets[:0], a)
		s.explore(a, root)
	}
	a.cut = s.best.players == 0 && s.unproven
	if s.best.players > 0 {
		p.balance(&s.best, func() bool { return s.teamRules(p.plans[s.best.stage].rules, &candidate{s.best.tickets, s.best.teams}) })
		s.pass.emit(s.best.tickets, s.best.teams, s.best.stage, slices.Clone(s.counts))
		return
	}
	s.pass.spare -= s.work - s.repaired
	s.pass.repairs -= s.repaired
	// A complete search of all candidates proves that no match contains this ticket.
	if a.spent = !s.unproven && (a.backfill || p.set.Algorithm.Backfill != ruleset.BackfillLow); a.spent {
		b.alive.drop(a.pos)
	}
}

// explore searches for a match with anchor a; root is its level. If firstTry evaluations find nothing, it
// tries repair, and if that fails, it searches again with the full budget.
func (s *search) explore(a *entry, root *level) {
	most := s.budget
	if s.exact || s.pass.pool.options.noRepair {
		s.extend(0)
		return
	}
	s.budget = min(most, firstTry)
	s.extend(0)
	if !s.stopped || s.best.players == 0 && s.repair(a, root) || most <= firstTry {
		return
	}
	s.stopped, s.unproven, s.best.players, s.budget = false, false, 0, s.work+most
	s.tickets = append(s.tickets[:0], a)
	s.extend(0)
}

func (s *search) level(depth int) *level {
	for len(s.levels) <= depth {
		n := s.pass.pool.ranges
		s.levels = append(s.levels, &level{low: make([]float64, n), high: make([]float64, n)})
	}
	return s.levels[depth]
}

// candidates returns the tickets that can be in a match with anchor a, as far as the cheap rules tell.
func (s *search) candidates(a *entry) set {
	p, b := s.pass.pool, &s.pass.batch
	rest := b.alive
	rest.drop(a.pos)
	if a.backfill || p.set.Algorithm.Backfill == ruleset.BackfillLow {
		rest = rest.without(&b.backfill)
	}
	if near := b.at(a.mask); a.mask != math.MaxUint64 {
		rest = rest.and(&near)
	}
	var out set
	for i := range b.stages {
		part := rest.and(&b.stages[i].set)
		if part.empty() {
			continue
		}
		at := &p.plans[p.younger(a.stage, b.stages[i].n)]
		for j := range at.ranges {
			if d := at.ranges[j].max; !math.IsInf(d, 1) {
				near := b.keys[j].within(a.keys[j]-d, a.keys[j]+d)
				part = part.and(&near)
			}
		}
		part = b.fitting(part, at.maxTotal-a.n)
		out = out.or(&part)
	}
	return b.unlike(out, a)
}

// fitting removes the tickets with more than the given number of players.
func (b *batch) fitting(s set, players int) set {
	for i := range b.sizes {
		if b.sizes[i].n > players {
			s = s.without(&b.sizes[i].set)
		}
	}
	return s
}

// unlike removes the tickets that name a player of e.
func (b *batch) unlike(s set, e *entry) set {
	for both := s.and(&b.shared); b.shared.has(e.pos) && !both.empty(); {
		i := both.first()
		both.drop(i)
		if sharesPlayer(e, b.order[i]) {
			s.drop(i)
		}
	}
	return s
}

// canReach reports whether the candidates include enough players at one location and within the first range.
// It lowers s.limit to the maximum possible.
func (s *search) canReach(a *entry, root *level) bool {
	b, at := &s.pass.batch, &s.pass.pool.plans[a.stage]
	if b.players(&root.rest) < s.need-a.n {
		return false
	}
	most := 0
	if b.mostAt(&root.rest, a.mask, at.latency != nil) >= s.need-a.n {
		b.parts(&root.rest, a.mask, at.latency != nil, func(part *set) { most = max(most, s.window(a, at, part)) })
	}
	s.limit = min(s.limit, a.n+most)
	return s.limit >= max(s.need, a.n) && (!a.backfill || !root.rest.empty())
}

// window returns the maximum number of players of candidates within one range that includes the anchor.
func (s *search) window(a *entry, at *plan, part *set) int {
	b := &s.pass.batch
	if len(at.ranges) == 0 || math.IsInf(at.ranges[0].max, 1) {
		return b.players(part)
	}
	width, k := at.ranges[0].max, &b.keys[0]
	from, _ := slices.BinarySearch(k.values, a.keys[0]-width)
	most, sum := 0, 0
	for i := from; i < len(k.values) && k.values[i] <= a.keys[0]+width; i++ {
		if !part.has(k.entries[i].pos) {
			continue
		}
		sum += k.entries[i].n
		for ; k.values[i]-k.values[from] > width; from++ {
			if part.has(k.entries[from].pos) {
				sum -= k.entries[from].n
			}
		}
		most = max(most, sum)
	}
	return most
}

// extend tries to add each candidate of a level, and then checks the set without another candidate.
func (s *search) extend(depth int) {
	p, b := s.pass.pool, &s.pass.batch
	l := s.levels[depth]
	rest := l.rest
	left := b.players(&rest)
	for !rest.empty() {
		if most := min(s.limit, l.players+min(left, l.most)); most < s.need || most <= s.best.players {
			break
		}
		i := rest.first()
		rest.drop(i)
		e := b.order[i]
		left -= e.n
		s.pass.pause(1)
		if s.work++; s.work > s.budget {
			s.stopped, s.unproven = true, true
			return
		}
		if l.players+e.n > s.limit || !s.fits(depth, e, rest) {
			continue
		}
		s.tickets = append(s.tickets, e)
		if s.allowed(depth + 1) {
			s.extend(depth + 1)
		}
		s.tickets = s.tickets[:len(s.tickets)-1]
		if s.stopped || s.best.players == s.limit {
			return
		}
	}
	if l.players > s.best.players && l.players >= s.need && (!l.backfill || len(s.tickets) > 1) && s.complete(l) {
		s.best = found{players: l.players, stage: l.stage, tickets: slices.Clone(s.tickets), teams: make([][]seat, len(p.set.Teams))}
		for i, t := range s.teams.candidate.teams {
			s.best.teams[i] = slices.Clone(t)
		}
	}
}

// fits computes the next level: the set with ticket e added, and the later candidates that can still be
// added. It reports whether a match is possible.
func (s *search) fits(depth int, e *entry, rest set) bool {
	p, b := s.pass.pool, &s.pass.batch
	next, l := s.level(depth+1), s.levels[depth]
	next.stage = p.younger(l.stage, e.stage)
	at := &p.plans[next.stage]
	next.mask = l.mask & e.mask
	next.players = l.players + e.n
	next.backfill, next.room = l.backfill || e.backfill, min(l.room, e.room())
	most := min(at.maxTotal, next.room)
	if next.mask == 0 || next.players > most {
		return false
	}
	for i := range at.ranges {
		d, k := at.ranges[i].max, e.keys[i]
		next.low[i], next.high[i] = min(l.low[i], k), max(l.high[i], k)
		if next.high[i]-next.low[i] > d {
			return false
		}
		if (k < l.low[i] || k > l.high[i] || next.stage != l.stage || depth == 0) && !math.IsInf(d, 1) {
			near := b.keys[i].within(next.high[i]-d, next.low[i]+d)
			rest = rest.and(&near)
		}
	}
	if next.mask != l.mask {
		near := b.at(next.mask)
		rest = rest.and(&near)
	}
	if next.backfill {
		rest = rest.without(&b.backfill)
	}
	next.rest = b.unlike(b.fitting(rest, most-next.players), e)
	next.most = b.mostAt(&next.rest, next.mask, at.latency != nil)
	return next.players+next.most >= s.need && next.players+next.most > s.best.players
}

// allowed reports whether the set can become a match. It checks the room of the teams, and the rules whose
// violation cannot be repaired by adding tickets.
func (s *search) allowed(depth int) bool {
	p := s.pass.pool
	at := &p.plans[s.levels[depth].stage]
	if !s.packs(at.room) {
		return false
	}
	if len(at.early[bySet]) == 0 {
		return true
	}
	s.seatCrowd()
	for _, r := range at.early[bySet] {
		if !s.check(r, at.pruning, &s.crowd) {
			return false
		}
	}
	return true
}

func (s *search) seatCrowd() {
	if s.crowd.teams == nil {
		s.crowd.teams = make([][]seat, len(s.pass.pool.set.Teams))
	}
	s.crowd.seatAll(s.tickets)
}

// inRanges reports whether a rule is already decided by the lowest and highest key.
func (at *plan) inRanges(r *ruleset.Rule) bool {
	return slices.ContainsFunc(at.ranges, func(k rangeRule) bool { return k.rule == r.Index && k.party == r.Party })
}

// free is the weight that counts as one evaluation: evaluating rules with a total weight of free adds 1 to
// work.
const free = 4

// check evaluates a rule and counts the result.
func (s *search) check(r *ruleset.Rule, rules []*ruleset.Rule, c *candidate) bool {
	if s.weight += s.pass.pool.weights[r.Index]; s.weight >= free {
		s.work += s.weight / free
		s.pass.pause(s.weight / free)
		s.weight %= free
	}
	return s.count(r, s.eval.holds(r, rules, s.pass.pool.set.Attributes, c))
}

// count counts the result of a rule and returns it.
func (s *search) count(r *ruleset.Rule, ok bool) bool {
	if s.counts == nil {
		s.counts = s.pass.pool.counts(0)
	}
	if ok {
		s.counts[r.Index].Passed++
	} else {
		s.counts[r.Index].Failed++
	}
	return ok
}

// counts returns a RuleCount for each rule, with the given number of passed evaluations.
func (p *Pool) counts(passed int) []RuleCount {
	counts := make([]RuleCount, 0, len(p.set.Rules))
	for _, r := range p.set.Rules {
		counts = append(counts, RuleCount{Name: r.Name, Passed: passed})
	}
	return counts
}

// packs reports whether the parties in the set (tickets with several players) fit into the teams. After 1000
// trials it gives up and returns true.
func (s *search) packs(room []int) bool {
	s.sizes = s.sizes[:0]
	for _, e := range s.tickets {
		if e.n > 1 && e.teams == nil {
			s.sizes = append(s.sizes, e.n)
		}
	}
	if len(s.sizes) == 0 {
		return true
	}
	left := slices.Clone(room)
	for _, e := range s.tickets {
		for _, t := range e.teams {
			left[t]--
		}
	}
	slices.SortFunc(s.sizes, func(a, b int) int { return b - a })
	trials := 0
	return pack(s.sizes, left, &trials)
}

func pack(sizes, room []int, trials *int) bool {
	if len(sizes) == 0 {
		return true
	}
	if *trials++; *trials > 1000 {
		return true
	}
	for i := range room {
		if room[i] < sizes[0] || slices.Contains(room[:i], room[i]) {
			continue
		}
		room[i] -= sizes[0]
		ok := pack(sizes[1:], room, trials)
		room[i] += sizes[0]
		if ok {
			return true
		}
	}
	return false
}

// complete reports whether the set is a match, and assigns its tickets to teams.
func (s *search) complete(l *level) bool {
	p := s.pass.pool
	at := &p.plans[l.stage]
	s.work++
	if l.players < at.filled || l.players > at.seats {
		return false
	}
	for i, k := range at.ranges {
		if r := at.rules[k.rule]; r.Party == k.party && !s.count(r, l.high[i]-l.low[i] <= *r.MaxDistance+tolerance) {
			return false
		}
	}
	s.seatCrowd()
	for _, r := range at.rules {
		if r.Enforced() && !p.dependent[r.Index] && !at.inRanges(r) && !s.check(r, at.rules, &s.crowd) {
			return false
		}
	}
	return s.assign(at)
}
