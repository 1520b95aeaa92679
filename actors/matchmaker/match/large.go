package match

import (
	"cmp"
	"container/heap"
	"math"
	"slices"
	"sort"

	"troupe/actors/matchmaker/ruleset"
)

// largePass is the state of a pass that forms large matches (flexmatch.md 12).
type largePass struct {
	groups  [][]*entry
	group   []*entry
	batches []*largeBatch
	done    map[int]bool    // locations whose batches are finished
	tried   map[*entry]bool // anchors for which the first batch has found no match
	rank    int             // with fastestRegion: number of locations per ticket that are in use, fastest first
	ranks   int
	formed  bool
}

// largeBatch contains the tickets that can play at one location.
type largeBatch struct {
	location int
	tickets  []ranked // in the order of byPriority
	players  int
	next     int // index of the next anchor
	removals uint64
	keys     []float64 // values of the first range rule, sorted
	before   []int     // before[i] is the number of players of the tickets before keys[i]
}

// ranked is a ticket with the rank of the batch's location among the locations of the ticket. Rank 0 has the
// lowest latency.
type ranked struct {
	e    *entry
	rank int
}

// resume rebuilds the batches, because by now more locations may be usable. Batches that existed keep their
// order.
func (l *largePass) resume(s *Pass) {
	if len(l.batches) == 0 {
		return
	}
	order := map[int]int{}
	for i, b := range l.batches {
		order[b.location] = i - len(l.batches)
	}
	s.largeBatches()
	slices.SortStableFunc(l.batches, func(a, b *largeBatch) int { return cmp.Compare(order[a.location], order[b.location]) })
	s.work = min(s.work, s.budget/2) // leaves budget for the anchors
}

// stepLarge tries one anchor. It returns true if the pass is complete.
func (s *Pass) stepLarge() (done bool) {
	l := s.large
	for len(l.batches) == 0 {
		fastest := s.pool.set.Algorithm.Batching == ruleset.FastestRegion
		if l.group == nil || l.formed || !fastest || l.rank >= l.ranks {
			if len(l.groups) == 0 {
				return true
			}
			l.group, l.groups = l.groups[0], l.groups[1:]
			l.rank, l.formed = 0, false
		}
		l.rank++
		l.done, l.tried = map[int]bool{}, map[*entry]bool{}
		s.largeBatches()
	}
	b := l.batches[0]
	if b.removals != s.pool.removals || b.keys == nil {
		b.live(s)
		s.work += len(b.tickets) / 16
	}
	for b.next < len(b.tickets) && (b.tickets[b.next].e.gone || l.tried[b.tickets[b.next].e]) {
		b.next++
	}
	s.work++
	if b.next == len(b.tickets) || b.players < s.pool.plans[b.tickets[b.next].e.stage].minTotal && len(s.pool.plans) == 1 {
		l.drop()
		return false
	}
	anchor := b.tickets[b.next].e
	switch {
	case b.around(s.pool, anchor) >= s.pool.plans[anchor.stage].minTotal && s.formLarge(anchor, b):
		l.formed = true
	case s.pool.ranges == 0 && s.pool.set.Algorithm.Backfill != ruleset.BackfillLow:
		l.drop() // no rule distinguishes the tickets, so the next anchor would fail as well
	default:
		l.tried[anchor] = true
	}
	return false
}

func (l *largePass) drop() {
	l.done[l.batches[0].location] = true
	l.tried = map[*entry]bool{}
	l.batches = l.batches[1:]
}

// largeBatches creates the unfinished batches of a group, one per location.
func (s *Pass) largeBatches() {
	l := s.large
	byLocation := map[int]*largeBatch{}
	l.batches, l.ranks = nil, 1
	s.work += len(l.group)
	for _, e := range l.group {
		s.pause(2)
		if e.gone {
			continue
		}
		e.stage = s.pool.set.StageAt(s.age(e))
		usable := s.usableLocations(e)
		l.ranks = max(l.ranks, len(usable))
		fastest := s.pool.set.Algorithm.Batching == ruleset.FastestRegion
		if fastest {
			usable = usable[:min(l.rank, len(usable))]
		}
		for rank, id := range usable {
			if !fastest {
				rank = 0 // ranks do not matter: all tickets use all their locations
			}
			b := byLocation[id]
			if b == nil {
				b = &largeBatch{location: id}
				byLocation[id] = b
				l.batches = append(l.batches, b)
			}
			b.tickets = append(b.tickets, ranked{e, rank})
			b.players += e.n
		}
	}
	l.batches = slices.DeleteFunc(l.batches, func(b *largeBatch) bool { return l.done[b.location] })
	for _, b := range l.batches {
		slices.SortFunc(b.tickets, func(x, y ranked) int {
			s.pause(1)
			return s.pool.byPriority(x.e, y.e)
		})
	}
	slices.SortStableFunc(l.batches, func(a, b *largeBatch) int { return cmp.Compare(b.players, a.players) })
}

// live updates the remaining tickets of the batch and the data for around.
func (b *largeBatch) live(s *Pass) {
	p := s.pool
	var left []*entry
	for _, r := range b.tickets[b.next:] {
		if !r.e.gone {
			left = append(left, r.e)
		}
	}
	if p.ranges > 0 {
		slices.SortFunc(left, func(x, y *entry) int {
			s.pause(1)
			return cmp.Compare(x.keys[0], y.keys[0])
		})
	}
	b.removals, b.players, b.keys, b.before = p.removals, 0, make([]float64, 0, len(left)), []int{0}
	for _, e := range left {
		if p.ranges > 0 {
			b.keys = append(b.keys, e.keys[0])
		}
		b.players += e.n
		b.before = append(b.before, b.players)
	}
}

// around returns an upper bound on the players of a match with an anchor: the players in the anchor's range
// of the first range rule.
func (b *largeBatch) around(p *Pool, anchor *entry) int {
	if p.ranges == 0 || math.IsInf(p.plans[anchor.stage].ranges[0].max, 1) {
		return b.players
	}
	at, d := anchor.keys[0], p.plans[anchor.stage].ranges[0].max
	from := sort.SearchFloat64s(b.keys, at-d)
	to := sort.Search(len(b.keys), func(i int) bool { return b.keys[i] > at+d })
	return b.before[to] - b.before[from]
}

// usableLocations returns the locations at which a ticket satisfies the latency rules, fastest first. Without
// such rules, all tickets have the same result.
func (s *Pass) usableLocations(e *entry) []int {
	var found []report
	any := false
	for i := range e.reports {
		ok := true
		for _, r := range s.pool.set.Stages[e.stage].Rules {
			if r.Type == ruleset.Latency {
				any = true
				ok = ok && pick(e.reports[i].ms, r.Party) <= *r.MaxLatency
			}
		}
		if ok {
			found = append(found, e.reports[i])
		}
	}
	if !any {
		return []int{0}
	}
	slices.SortStableFunc(found, func(a, b report) int { return cmp.Compare(a.ms[0], b.ms[0]) })
	ids := make([]int, len(found))
	for i := range found {
		ids[i] = found[i].id
	}
	return ids
}

// byBalance is a heap of tickets. It orders them by the rank of the location, then by the distance of the
// balanced attribute from that of the anchor, then by age.
type byBalance struct {
	tickets []ranked
	at      float64
	index   int
}

func (h *byBalance) Len() int      { return len(h.tickets) }
func (h *byBalance) Swap(i, j int) { h.tickets[i], h.tickets[j] = h.tickets[j], h.tickets[i] }
func (h *byBalance) Push(any)      {}
func (h *byBalance) Pop() any {
	h.tickets = h.tickets[:len(h.tickets)-1]
	return nil
}

func (h *byBalance) distance(e *entry) float64 { return math.Abs(e.numbers[h.index][0] - h.at) }

func (h *byBalance) Less(i, j int) bool {
	a, b := h.tickets[i], h.tickets[j]
	return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(h.distance(a.e), h.distance(b.e)), byAge(a.e, b.e)) < 0
}

// formLarge forms a match with an anchor if possible.
func (s *Pass) formLarge(anchor *entry, b *largeBatch) bool {
	p := s.pool
	isBackfill, most := anchor.backfill, anchor.n
	h := &byBalance{at: anchor.numbers[p.set.Algorithm.BalancedAttribute][0], index: p.set.Algorithm.BalancedAttribute}
	for _, r := range b.tickets {
		s.pause(1)
		if r.e == anchor || r.e.gone || r.e.backfill && (isBackfill || p.set.Algorithm.Backfill == ruleset.BackfillLow) || !p.besideInRange(anchor, r.e) {
			continue
		}
		h.tickets = append(h.tickets, r)
		most += r.e.n
	}
	s.work += 1 + len(b.tickets)/16
	if most < p.plans[anchor.stage].minTotal {
		return false
	}
	heap.Init(h)
	s.work += len(h.tickets) / 2
	chosen := []*entry{anchor}
	stage, players, backfill, room := anchor.stage, anchor.n, isBackfill, anchor.room()
	low, high := slices.Clone(anchor.keys), slices.Clone(anchor.keys)
	for len(h.tickets) > 0 && players < p.plans[stage].maxTotal {
		e := h.tickets[0].e
		heap.Pop(h)
		s.work += 2
		s.pause(2)
		next := p.younger(stage, e.stage)
		if players+e.n > min(p.plans[next].seats, room, e.room()) || backfill && e.backfill || !p.inRange(next, low, high, e) || slices.ContainsFunc(chosen, func(o *entry) bool { return sharesPlayer(o, e) }) {
			continue
		}
		for i, k := range e.keys {
			low[i], high[i] = min(low[i], k), max(high[i], k)
		}
		chosen, stage, players = append(chosen, e), next, players+e.n
		backfill, room = backfill || e.backfill, min(room, e.room())
	}
	if isBackfill && len(chosen) == 1 {
		return false
	}
	f := found{stage: stage}
	if !p.fillTeams(&f, chosen) {
		// A party that comes late in the order may not fit into any team, so try again with larger parties
		// first.
		slices.SortStableFunc(chosen[1:], func(a, b *entry) int { return cmp.Compare(b.n, a.n) })
		if !p.fillTeams(&f, chosen) {
			return false
		}
	}
	p.balance(&f, func() bool { return true })
	s.emit(f.tickets, f.teams, f.stage, s.pool.counts(len(f.tickets))) // counted as if each rule had been evaluated once per ticket
	return true
}

// besideInRange reports whether the batchDistance rules allow a ticket together with an anchor, at this or a
// later stage.
func (p *Pool) besideInRange(anchor, e *entry) bool {
	at := &p.plans[p.younger(anchor.stage, e.stage)]
	for i := range at.ranges {
		if math.Abs(anchor.keys[i]-e.keys[i]) > at.ranges[i].max {
			return false
		}
	}
	return true
}

// inRange reports whether the batchDistance rules allow e in addition to tickets whose values are between low
// and high.
func (p *Pool) inRange(stage int, low, high []float64, e *entry) bool {
	for i, r := range p.plans[stage].ranges {
		d := *p.plans[stage].rules[r.rule].MaxDistance + tolerance
		if max(high[i], e.keys[i])-min(low[i], e.keys[i]) > d {
			return false
		}
	}
	return true
}

// fillTeams assigns tickets to teams, in order. It skips tickets that fit into no team. It reports whether
// all teams reach their minimum.
func (p *Pool) fillTeams(f *found, tickets []*entry) bool {
	teams := p.plans[f.stage].teams
	f.tickets, f.teams = nil, make([][]seat, len(teams))
	for _, e := range tickets {
		for i, t := range e.teams {
			f.teams[t] = append(f.teams[t], seat{e, i})
			if len(f.teams[t]) > teams[t].Max {
				return false
			}
		}
	}
	var order []int
	for _, e := range tickets {
		if e.teams == nil {
			if order = fillOrder(order[:0], teams, f.teams, e.n); len(order) == 0 {
				continue
			}
			f.teams[order[0]] = e.seated(f.teams[order[0]])
		}
		f.tickets = append(f.tickets, e)
	}
	return reachMinimum(teams, f.teams) && (len(f.tickets) > 1 || !f.tickets[0].backfill)
}
