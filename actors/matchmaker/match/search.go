package match

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"troupe/actors/matchmaker/ruleset"
)

// search finds the best match for an anchor (flexmatch.md 11.2): depth first over the sets of tickets, in the order of candidates and
// with the next candidate included first. So the first complete set of a size is the one that the specification prefers.
type search struct {
	pass *Pass
	eval evaluator

	work, budget int
	exact        bool // the result must be exact
	stopped      bool // the budget has ended
	unproven     bool // not everything was tried
	limit        int  // no match has more players
	need         int  // no match has fewer
	tickets      []*entry
	levels       []level
	crowd        candidate
	teams        assignment
	best         found
	counts       []RuleCount
	sizes        []int
}

// level is the state with one more ticket.
type level struct {
	list      []option // the candidates that may follow
	low, high []float64
	stage     int
	players   int
	most      int // no more players than this can follow
	mask      uint64
	backfill  bool
}

// option is a candidate, and the locations that it and the anchor may have in common.
type option struct {
	e    *entry
	mask uint64
}

// found is the best match so far.
type found struct {
	players int
	stage   int
	tickets []*entry
	teams   [][]seat
}

// run searches a match for an anchor, and emits it.
func (s *search) run(a *entry) {
	p := s.pass.pool
	s.work, s.stopped, s.unproven, s.budget, s.exact = 0, false, false, max(fewest, min(anchorBudget, s.pass.spare)), false
	s.best.players = 0
	for i := range s.counts {
		s.counts[i].Passed, s.counts[i].Failed = 0, 0
	}
	at := &p.plans[a.stage]
	s.limit, s.need = at.maxTotal, at.minTotal
	root := s.level(0)
	s.candidates(a, root)
	if s.canReach(a, root) {
		s.order(a, root.list)
		if len(s.pass.current) <= exactTickets {
			s.budget, s.exact = exactBudget, true
		}
		root.stage, root.players, root.mask, root.backfill = a.stage, a.n, a.mask, a.ticket.Backfill != ""
		root.most = s.limit
		copy(root.low, a.keys)
		copy(root.high, a.keys)
		s.tickets = append(s.tickets[:0], a)
		s.extend(0)
	}
	if s.best.players > 0 {
		p.balance(&s.best, func() bool { return s.teamRulesHold(s.best.tickets, s.best.teams, s.best.stage) })
		s.pass.emit(s.best.tickets, s.best.teams, s.best.stage, slices.Clone(s.counts))
		return
	}
	s.pass.spare -= s.work
	// A search that saw all candidates and has ended by itself proves that no match has this ticket.
	a.spent = !s.unproven && (a.ticket.Backfill != "" || p.set.Algorithm.Backfill != ruleset.BackfillLow)
}

func (s *search) level(depth int) *level {
	for len(s.levels) <= depth {
		n := s.pass.pool.ranges
		s.levels = append(s.levels, level{low: make([]float64, n), high: make([]float64, n)})
	}
	return &s.levels[depth]
}

// candidates fills the list of an anchor with the tickets that may be in one match with it.
func (s *search) candidates(a *entry, root *level) {
	p, all := s.pass.pool, s.pass.byKey
	from, to := 0, len(all)
	if p.ranges > 0 {
		if d := p.plans[a.stage].ranges[0].max; !math.IsInf(d, 1) {
			from = sort.Search(len(all), func(i int) bool { return all[i].keys[0] >= a.keys[0]-d })
			to = from + sort.Search(len(all)-from, func(i int) bool { return all[from+i].keys[0] > a.keys[0]+d })
		}
	}
	root.list = root.list[:0]
	isBackfill := a.ticket.Backfill != ""
	for _, e := range all[from:to] {
		if e == a || e.gone || e.spent {
			continue
		}
		if b := e.ticket.Backfill != ""; b && (isBackfill || p.set.Algorithm.Backfill == ruleset.BackfillLow) {
			continue
		}
		if p.pair(a, e) {
			root.list = append(root.list, option{e, a.mask & e.mask})
		}
	}
	s.work += 1 + len(root.list)/16
}

// pair reports whether the cheap rules allow two tickets in one match.
func (p *Pool) pair(a, b *entry) bool {
	at := &p.plans[p.stageWith(a.stage, b)]
	if a.n+b.n > at.maxTotal || a.mask&b.mask == 0 {
		return false
	}
	for i := range at.ranges {
		if math.Abs(a.keys[i]-b.keys[i]) > at.ranges[i].max {
			return false
		}
	}
	return !(a.shared && b.shared && p.sharesPlayer(a, b))
}

// canReach reports whether the candidates have enough players, at one location and within the first range, and lowers the limit to
// what they have at most.
func (s *search) canReach(a *entry, root *level) bool {
	p := s.pass.pool
	most := 0
	if p.plans[a.stage].latency == nil {
		most = s.window(a, root.list, math.MaxUint64)
	} else {
		for mask := a.mask; mask != 0; mask &= mask - 1 {
			most = max(most, s.window(a, root.list, 1<<bits.TrailingZeros64(mask)))
		}
	}
	s.limit = min(s.limit, a.n+most)
	return s.limit >= max(s.need, a.n) && (a.ticket.Backfill == "" || len(root.list) > 0)
}

// window returns the most players of candidates with a location that fit into one range with the anchor. The list is in the order
// of keys.
func (s *search) window(a *entry, list []option, mask uint64) int {
	p := s.pass.pool
	width := math.Inf(1)
	if p.ranges > 0 {
		width = p.plans[a.stage].ranges[0].max
	}
	most, sum, from := 0, 0, 0
	for i := range list {
		if list[i].mask&mask == 0 {
			continue
		}
		sum += list[i].e.n
		if !math.IsInf(width, 1) {
			for ; list[i].e.keys[0]-list[from].e.keys[0] > width; from++ {
				if list[from].mask&mask != 0 {
					sum -= list[from].e.n
				}
			}
		}
		most = max(most, sum)
	}
	return most
}

// extend tries the candidates of a level, one after the other, and then the set as it is.
func (s *search) extend(depth int) {
	p := s.pass.pool
	l := &s.levels[depth]
	left := 0
	for _, o := range l.list {
		left += o.e.n
	}
	for i, o := range l.list {
		if most := min(s.limit, l.players+min(left, l.most)); most < s.need || most <= s.best.players {
			break
		}
		left -= o.e.n
		if s.work++; s.work > s.budget {
			s.stopped, s.unproven = true, true
			return
		}
		if l.players+o.e.n > s.limit || !s.fits(depth, o, l.list[i+1:]) {
			continue
		}
		s.tickets = append(s.tickets, o.e)
		if s.allowed(depth + 1) {
			s.extend(depth + 1)
		}
		s.tickets = s.tickets[:len(s.tickets)-1]
		l = &s.levels[depth] // the levels may have moved
		if s.stopped || s.best.players == s.limit {
			return
		}
	}
	if l.players > s.best.players && l.players >= s.need && (!l.backfill || len(s.tickets) > 1) && s.complete(l) {
		s.keep(p, l)
	}
}

// fits computes the next level: the candidate, and those behind it that may follow. It reports whether there can be a match.
func (s *search) fits(depth int, o option, rest []option) bool {
	p := s.pass.pool
	next := s.level(depth + 1)
	l := &s.levels[depth]
	next.stage = p.stageWith(l.stage, o.e)
	at := &p.plans[next.stage]
	next.mask = l.mask & o.mask
	next.players = l.players + o.e.n
	next.backfill = l.backfill || o.e.ticket.Backfill != ""
	if next.mask == 0 || next.players > at.maxTotal {
		return false
	}
	for i := range at.ranges {
		next.low[i], next.high[i] = min(l.low[i], o.e.keys[i]), max(l.high[i], o.e.keys[i])
		if next.high[i]-next.low[i] > at.ranges[i].max {
			return false
		}
	}
	next.list = next.list[:0]
	for _, r := range rest {
		if r.mask&next.mask == 0 || next.backfill && r.e.ticket.Backfill != "" || next.players+r.e.n > at.maxTotal {
			continue
		}
		ok := true
		for i := range at.ranges {
			if k := r.e.keys[i]; k-next.low[i] > at.ranges[i].max || next.high[i]-k > at.ranges[i].max {
				ok = false
				break
			}
		}
		if ok && !(o.e.shared && r.e.shared && p.sharesPlayer(o.e, r.e)) {
			next.list = append(next.list, r)
		}
	}
	s.work += len(rest) / 64
	next.most = s.reach(next, at)
	return next.players+next.most >= s.need && next.players+next.most > s.best.players
}

// slots is how finely reach looks at the ranges that are possible.
const slots = 16

// reach returns a bound on the players that may still follow: those at one location, within one range of the first range rule.
// A range begins between high-width and low. Candidates below the begin, or beyond the end, do not count.
func (s *search) reach(l *level, at *plan) int {
	masks := at.latency != nil
	begin, step, ranged := 0.0, 0.0, false
	if len(at.ranges) > 0 && !math.IsInf(at.ranges[0].max, 1) {
		begin = l.high[0] - at.ranges[0].max
		step = (l.low[0] - begin) / slots
		ranged = step > 0
	}
	best := 0
	for mask := l.mask; mask != 0; mask &= mask - 1 {
		bit := mask & -mask
		if !masks {
			bit = mask
		}
		total := 0
		var below, above [slots]int // candidates that a range no longer has if it begins in a later slot, or has only from it on
		for _, o := range l.list {
			if o.mask&bit == 0 {
				continue
			}
			n := o.e.n
			total += n
			if !ranged {
				continue
			}
			if k := o.e.keys[0]; k < l.low[0] {
				below[max(0, min(int((k-begin)/step), slots-1))] += n
			} else if k > l.high[0] {
				above[max(0, min(int((k-l.high[0])/step), slots-1))] += n
			}
		}
		if !ranged {
			best = max(best, total)
		} else {
			have := total
			for _, n := range above {
				have -= n
			}
			for i := range slots { // the range begins in slot i
				have += above[i]
				best = max(best, have)
				have -= below[i]
			}
		}
		if !masks {
			break
		}
	}
	return best
}

// allowed reports whether the set may become a match, by the rules that no further ticket repairs, and by the room of the teams.
func (s *search) allowed(depth int) bool {
	p := s.pass.pool
	at := &p.plans[s.levels[depth].stage]
	if !s.packs(at.room) {
		return false
	}
	if len(at.sets) == 0 {
		return true
	}
	s.seatCrowd()
	for _, r := range at.sets {
		if !s.check(r, at.rules, &s.crowd) {
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

// inRanges reports whether lowest and highest key decide a rule.
func (at *plan) inRanges(r *ruleset.Rule) bool {
	for _, k := range at.ranges {
		if k.rule == r.Index {
			return r.Party == k.party
		}
	}
	return false
}

// check evaluates a rule and counts the result.
func (s *search) check(r *ruleset.Rule, rules []*ruleset.Rule, c *candidate) bool {
	return s.count(r, s.eval.holds(r, rules, s.pass.pool.set.Attributes, c))
}

// count counts the result of a rule, and returns it.
func (s *search) count(r *ruleset.Rule, ok bool) bool {
	if s.counts == nil {
		s.counts = make([]RuleCount, 0, len(s.pass.pool.set.Rules))
		for _, r := range s.pass.pool.set.Rules {
			s.counts = append(s.counts, RuleCount{Name: r.Name})
		}
	}
	if ok {
		s.counts[r.Index].Passed++
	} else {
		s.counts[r.Index].Failed++
	}
	return ok
}

// packs reports whether the parties of the set fit into teams. Single players fit if the sum does. It gives up after some trials, and
// reports true then.
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

// complete reports whether the set is a match, and finds its teams.
func (s *search) complete(l *level) bool {
	p := s.pass.pool
	at := &p.plans[l.stage]
	low, high := 0, -p.options.AdditionalPlayers
	for _, t := range at.teams {
		low, high = low+t.Min, high+t.Max
	}
	s.work++
	if l.players < low || l.players > high {
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

func (s *search) keep(p *Pool, l *level) {
	s.best.players, s.best.stage = l.players, l.stage
	s.best.tickets = slices.Clone(s.tickets)
	s.best.teams = make([][]seat, len(p.set.Teams))
	for i, t := range s.teams.candidate.teams {
		s.best.teams[i] = slices.Clone(t)
	}
}
