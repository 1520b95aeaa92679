package match

import (
	"cmp"
	"container/heap"
	"math"
	"slices"

	"troupe/actors/matchmaker/ruleset"
)

// largePass is the state of a pass that makes large matches (flexmatch.md 12).
type largePass struct {
	groups  [][]*entry
	group   []*entry
	batches []largeBatch
	rank    int // fastestRegion: how many locations of each ticket are open
	ranks   int
	formed  bool
}

// largeBatch is the tickets that may play at one location.
type largeBatch struct {
	tickets []ranked // by priority
	players int
	next    int // the anchor to try
}

// ranked is a ticket, and which of its locations the batch is: 0 is the one with the lowest latency.
type ranked struct {
	e    *entry
	rank int
}

// stepLarge tries one anchor. It reports whether the pass is complete.
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
		s.largeBatches()
		s.work += len(l.group)
	}
	b := &l.batches[0]
	for b.next < len(b.tickets) && b.tickets[b.next].e.gone {
		b.next++
	}
	b.players = 0
	for _, r := range b.tickets[b.next:] {
		if !r.e.gone {
			b.players += r.e.n
		}
	}
	s.work += 1 + (len(b.tickets)-b.next)/16
	if b.next == len(b.tickets) || b.players < s.pool.plans[b.tickets[b.next].e.stage].minTotal && s.noneOlder(b) {
		l.batches = l.batches[1:]
		return false
	}
	anchor := b.tickets[b.next].e
	if s.formLarge(anchor, b) {
		l.formed = true
	} else if b.next++; s.pool.ranges == 0 && s.pool.set.Algorithm.Backfill != ruleset.BackfillLow {
		l.batches = l.batches[1:] // without a rule that tells tickets apart, the next anchor sees the same tickets
	}
	return false
}

// noneOlder reports whether no later anchor has smaller minimums: there are no expansions.
func (s *Pass) noneOlder(*largeBatch) bool { return len(s.pool.plans) == 1 }

// largeBatches makes the batches of a group: one for each location.
func (s *Pass) largeBatches() {
	l := s.large
	byLocation := map[int]*largeBatch{}
	var ids []int
	l.ranks = 1
	for _, e := range l.group {
		if e.gone {
			continue
		}
		usable := s.usableLocations(e)
		l.ranks = max(l.ranks, len(usable))
		if s.pool.set.Algorithm.Batching == ruleset.FastestRegion {
			usable = usable[:min(l.rank, len(usable))]
		}
		for rank, id := range usable {
			b := byLocation[id]
			if b == nil {
				b = &largeBatch{}
				byLocation[id] = b
				ids = append(ids, id)
			}
			b.tickets = append(b.tickets, ranked{e, rank})
			b.players += e.n
		}
	}
	l.batches = nil
	for _, id := range ids {
		b := byLocation[id]
		slices.SortFunc(b.tickets, func(x, y ranked) int { return s.pool.byPriority(x.e, y.e) })
		l.batches = append(l.batches, *b)
	}
	slices.SortStableFunc(l.batches, func(a, b largeBatch) int { return cmp.Compare(b.players, a.players) })
}

// usableLocations returns the locations that are good enough for a ticket at its own age, the fastest first. Without a latency rule
// there is one, which all share.
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

// byBalance is a heap of tickets: by rank of the location, distance of the balanced attribute to the anchor's, age.
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

// formLarge makes a match around an anchor, if there is one.
func (s *Pass) formLarge(anchor *entry, b *largeBatch) bool {
	p := s.pool
	isBackfill := anchor.ticket.Backfill != ""
	h := &byBalance{at: anchor.numbers[p.set.Algorithm.BalancedAttribute][0], index: p.set.Algorithm.BalancedAttribute}
	for _, r := range b.tickets {
		if r.e == anchor || r.e.gone || r.e.ticket.Backfill != "" && (isBackfill || p.set.Algorithm.Backfill == ruleset.BackfillLow) {
			continue
		}
		h.tickets = append(h.tickets, r)
	}
	heap.Init(h)
	s.work += 1 + len(h.tickets)/4
	chosen := []*entry{anchor}
	stage, players, backfill := anchor.stage, anchor.n, isBackfill
	low, high := slices.Clone(anchor.keys), slices.Clone(anchor.keys)
	for len(h.tickets) > 0 && players < p.plans[stage].maxTotal {
		e := h.tickets[0].e
		heap.Pop(h)
		s.work++
		next := p.stageWith(stage, e)
		if players+e.n > p.seats(next) || backfill && e.ticket.Backfill != "" || !p.inRange(next, low, high, e) || slices.ContainsFunc(chosen, func(o *entry) bool { return p.sharesPlayer(o, e) }) {
			continue
		}
		for i, k := range e.keys {
			low[i], high[i] = min(low[i], k), max(high[i], k)
		}
		chosen, stage, players = append(chosen, e), next, players+e.n
		backfill = backfill || e.ticket.Backfill != ""
	}
	if isBackfill && len(chosen) == 1 {
		return false
	}
	f := found{stage: stage}
	if !p.fillTeams(&f, chosen) {
		// Parties that come late may find no team with room for all of them.
		slices.SortStableFunc(chosen[1:], func(a, b *entry) int { return cmp.Compare(b.n, a.n) })
		if !p.fillTeams(&f, chosen) {
			return false
		}
	}
	p.balance(&f, func() bool { return true })
	s.emit(f.tickets, f.teams, f.stage, s.largeCounts(f.tickets))
	return true
}

// seats returns how many players a match of a stage may have.
func (p *Pool) seats(stage int) int {
	n := -p.options.AdditionalPlayers
	for _, t := range p.plans[stage].teams {
		n += t.Max
	}
	return n
}

// inRange reports whether the batchDistance rules allow one more ticket.
func (p *Pool) inRange(stage int, low, high []float64, e *entry) bool {
	for i, r := range p.plans[stage].ranges {
		d := *p.plans[stage].rules[r.rule].MaxDistance + tolerance
		if max(high[i], e.keys[i])-min(low[i], e.keys[i]) > d {
			return false
		}
	}
	return true
}

// fillTeams gives teams to tickets, in their order; those that no team has room for are left out. It reports whether all teams reach
// their minimum.
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
			for i := range e.n {
				f.teams[order[0]] = append(f.teams[order[0]], seat{e, i})
			}
		}
		f.tickets = append(f.tickets, e)
	}
	for t := range teams {
		if len(f.teams[t]) < teams[t].Min {
			return false
		}
	}
	return len(f.tickets) > 1 || f.tickets[0].ticket.Backfill == ""
}

// largeCounts says that each rule was evaluated once for each ticket of a match.
func (s *Pass) largeCounts(tickets []*entry) []RuleCount {
	counts := make([]RuleCount, 0, len(s.pool.set.Rules))
	for _, r := range s.pool.set.Rules {
		counts = append(counts, RuleCount{r.Name, len(tickets), 0})
	}
	return counts
}
