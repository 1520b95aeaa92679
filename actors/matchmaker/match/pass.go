package match

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"troupe/actors/matchmaker/ruleset"
)

// PassBudget is the maximum number of evaluations in a pass. When it is spent, the current search finishes,
// and the next pass continues.
const PassBudget = 180_000

// Limits of a pass (flexmatch.md 11).
const (
	BatchSize     = 250     // tickets
	anchorBudget  = 20_000  // evaluations for one anchor
	fruitless     = 100_000 // evaluations for all fruitless searches of a pass; its batches share them equally
	fewest        = 150     // evaluations for an anchor when the share of its batch is spent
	exactTickets  = 12      // maximum size of a batch for which the result is exact
	exactBudget   = 1_000_000
	assignBudget  = 2_000 // evaluations for assigning one set of tickets to teams, unless the result must be exact
	balanceTrials = 10_000
	pauseEvery    = 64 // evaluations, or steps that take about as long, such as a comparison in a sort
)

// Pass is one run over the tickets that were in the pool when the pass began.
type Pass struct {
	pool    *Pool
	now     time.Time
	batches [][]*entry
	next    int // index of the next batch
	batch   batch
	anchor  int // index of the next anchor in batch
	large   *largePass
	search  search
	matches []Match
	work    int
	budget  int
	cut     bool
	repairs int    // evaluations left for repair
	spare   int    // evaluations left for fruitless searches of the current batch
	toPause int    // evaluations left until the next call of Options.Pause
	arrived uint64 // value of Pool.arrivals when the pass began
}

// Begin begins a pass. It computes ages at time now. Equal seeds split equal pools into equal batches. If the
// previous pass spent its budget, Begin continues it with its remaining tickets. Tickets that arrived since
// wait for the first pass after that, so that every ticket gets its turn.
func (p *Pool) Begin(now time.Time, seed uint64) *Pass {
	if s := p.cut; s != nil {
		p.cut = nil
		s.resume(now)
		return s
	}
	s := &Pass{pool: p, now: now, budget: p.options.Budget, arrived: p.arrivals}
	s.search.pass = s
	if s.budget <= 0 {
		s.budget = PassBudget
	}
	s.budget = max(s.budget, 4*BatchSize) // otherwise a pass may make no progress
	groups := map[string][]*entry{}
	var names []string
	for _, e := range p.entries {
		s.pause(1)
		if e.gone || e.never != "" {
			continue
		}
		e.spent, e.tried = false, false
		g := p.group(e)
		if groups[g] == nil {
			names = append(names, g)
			if len(names) == 1 {
				groups[g] = make([]*entry, 0, p.Len()) // most rule sets have only one group
			}
		}
		groups[g] = append(groups[g], e)
	}
	if p.set.Large() {
		s.large = &largePass{}
		for _, g := range names {
			s.large.groups = append(s.large.groups, groups[g])
		}
		return s
	}
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, g := range names {
		s.split(groups[g], rng)
	}
	return s
}

// Cut reports whether the pass ended because its budget was spent. If so, another pass should begin even if
// the pool has not changed.
func (s *Pass) Cut() bool { return s.cut }

// Unseen reports whether the pool has tickets that are not in this pass. That happens if Begin continued a
// pass that began before they were added.
func (s *Pass) Unseen() bool { return s.pool.arrivals > s.arrived }

// NextStep returns when the next ticket in the pool reaches another expansion step, or the zero time if none
// will. The pass must be complete.
func (s *Pass) NextStep() (first time.Time) {
	stages := s.pool.set.Stages
	if len(stages) < 2 {
		return first
	}
	for _, e := range s.pool.entries {
		s.pause(1)
		if e.gone || e.never != "" || e.stage+1 == len(stages) {
			continue
		}
		if at := e.start.Add(stages[e.stage+1].From); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	return first
}

// pause counts n evaluations, and calls Options.Pause after every pauseEvery evaluations.
func (s *Pass) pause(evaluations int) {
	if s.toPause -= evaluations; s.toPause <= 0 {
		s.toPause = pauseEvery
		if s.pool.options.Pause != nil {
			s.pool.options.Pause()
		}
	}
}

// resume continues, at a later time, a pass that was cut.
func (s *Pass) resume(now time.Time) {
	s.now, s.work, s.cut = now, 0, false
	if s.large != nil {
		s.large.resume(s)
		return
	}
	// Tickets may have reached another expansion step, so rebuild the batch without the anchors that were
	// already tried.
	if s.anchor < len(s.batch.anchors) {
		s.prepare(s.batches[s.next-1])
	}
}

func (s *Pass) age(e *entry) time.Duration { return s.now.Sub(e.start) }

func (s *Pass) split(group []*entry, rng *rand.Rand) {
	n := (len(group) + BatchSize - 1) / BatchSize
	if n > 1 {
		switch s.pool.set.Algorithm.Batching {
		case ruleset.Sorted:
			slices.SortStableFunc(group, func(a, b *entry) int {
				s.pause(1)
				return s.bySortAttributes(a, b)
			})
		case ruleset.FastestRegion, ruleset.LargestPopulation:
			s.sortByLocation(group)
		default:
			rng.Shuffle(len(group), func(i, j int) {
				s.pause(1)
				group[i], group[j] = group[j], group[i]
			})
		}
	}
	for i := range n {
		s.batches = append(s.batches, group[i*len(group)/n:(i+1)*len(group)/n])
	}
}

func (s *Pass) bySortAttributes(a, b *entry) int {
	for _, i := range s.pool.set.Algorithm.SortBy {
		c := 0
		switch s.pool.set.Attributes[i].Type {
		case ruleset.Number:
			c = cmp.Compare(a.numbers[i][0], b.numbers[i][0])
		case ruleset.String:
			c = strings.Compare(a.values[0][i].S, b.values[0][i].S)
		case ruleset.StringList:
			c = strings.Compare(firstOf(a.values[0][i].SL), firstOf(b.values[0][i].SL))
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func firstOf(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

func (s *Pass) sortByLocation(group []*entry) {
	players := map[int]int{}
	for _, e := range group {
		s.pause(1)
		for _, r := range e.reports {
			players[r.id] += e.n
		}
	}
	fastest := s.pool.set.Algorithm.Batching == ruleset.FastestRegion
	best := make(map[*entry]int, len(group))
	for _, e := range group {
		s.pause(1)
		best[e] = -1
		rank := math.Inf(1)
		for _, r := range e.reports {
			key := r.ms[0]
			if !fastest {
				key = -float64(players[r.id])
			}
			if key < rank {
				rank, best[e] = key, r.id
			}
		}
	}
	slices.SortStableFunc(group, func(a, b *entry) int {
		s.pause(1)
		return cmp.Compare(best[a], best[b])
	})
}

// Step continues the pass for about the given number of evaluations, but at least for one anchor. It returns
// true if the pass is complete or its budget is spent.
func (s *Pass) Step(evaluations int) (done bool) {
	until := s.work + max(evaluations, 1)
	for s.work < until {
		switch {
		case s.cut:
			return true
		case s.work >= s.budget:
			s.cut, s.pool.cut = true, s
			return true
		case s.large != nil:
			if s.stepLarge() {
				return true
			}
		case s.anchor < len(s.batch.anchors):
			a := s.batch.anchors[s.anchor]
			s.anchor++
			if a.gone || a.tried {
				continue
			}
			a.tried = true
			s.search.run(a)
			s.work += max(s.search.work, 1)
		case s.next < len(s.batches):
			s.prepare(s.batches[s.next])
			s.spare, s.repairs = fruitless/len(s.batches), fruitless/len(s.batches)
			s.next++
		default:
			return true
		}
	}
	return false
}

// Take removes and returns the matches formed since the last call, in order.
func (s *Pass) Take() []Match {
	out := s.matches
	s.matches = nil
	return out
}

// Evaluations returns the work of the pass: the number of tickets tried with a candidate plus the number of
// assignments tried.
func (s *Pass) Evaluations() int { return s.work }

func byAge(a, b *entry) int {
	return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.arrival, b.arrival))
}

// byPriority compares by age, but puts backfill tickets first or last if the rule set says so (flexmatch.md
// 11.3).
func (p *Pool) byPriority(a, b *entry) int {
	if x, y := a.backfill, b.backfill; x != y && p.set.Algorithm.Backfill != ruleset.BackfillNormal {
		if x == (p.set.Algorithm.Backfill == ruleset.BackfillHigh) {
			return -1
		}
		return 1
	}
	return byAge(a, b)
}

func (s *Pass) prepare(tickets []*entry) {
	b := &s.batch
	b.anchors, s.anchor = b.anchors[:0], 0
	for _, e := range tickets {
		s.pause(2)
		if e.gone {
			continue
		}
		e.stage = s.pool.set.StageAt(s.age(e))
		s.work += 1 + len(s.pool.plans[e.stage].early[byTicket])/free
		if s.pool.brokenAlone(&s.search.eval, e, e.stage) == nil {
			e.mask = s.pool.usable(e)
			b.anchors = append(b.anchors, e)
		}
	}
	slices.SortFunc(b.anchors, s.pool.byPriority)
	b.fill(s.pool)
}

// brokenAlone returns a rule that the ticket alone violates at the given stage and at all stages that a
// candidate may reach later. It returns nil if there is none.
func (p *Pool) brokenAlone(v *evaluator, e *entry, stage int) *ruleset.Rule {
	at := &p.plans[stage]
	rules := at.early[byTicket]
	if len(rules) == 0 {
		return nil
	}
	c := p.crowd([]*entry{e})
	for _, r := range rules {
		if !v.holds(r, at.pruning, p.set.Attributes, c) {
			return r
		}
	}
	return nil
}

// crowd returns a candidate with all players in the first team. It is for rules that do not depend on teams.
func (p *Pool) crowd(tickets []*entry) *candidate {
	c := &candidate{tickets: tickets, teams: make([][]seat, len(p.set.Teams))}
	c.seatAll(tickets)
	return c
}

func (c *candidate) seatAll(tickets []*entry) {
	c.tickets = tickets
	all := c.teams[0][:0]
	for _, e := range tickets {
		all = e.seated(all)
	}
	c.teams[0] = all
}

// usable returns, as bits, the locations at which a ticket satisfies the latency rules of its stage. Bit i
// stands for all locations whose ID modulo 64 is i. So two tickets without a common bit have no common
// location.
func (p *Pool) usable(e *entry) uint64 {
	r := p.plans[e.stage].latency
	if r == nil {
		return math.MaxUint64
	}
	mask := uint64(0)
	for i := range e.reports {
		if pick(e.reports[i].ms, r.Party) <= *r.MaxLatency {
			mask |= 1 << (e.reports[i].id % 64)
		}
	}
	return mask
}

// younger returns the stage of a candidate whose tickets have stages a and b. The rule set determines which
// ticket's age counts.
func (p *Pool) younger(a, b int) int {
	if p.set.Algorithm.ExpansionAge == ruleset.Oldest {
		return max(a, b)
	}
	return min(a, b)
}

// emit adds a match to the results and removes its tickets from the pool.
func (s *Pass) emit(tickets []*entry, teams [][]seat, stage int, counts []RuleCount) {
	m := Match{Rules: counts}
	for i, e := range tickets {
		m.Tickets = append(m.Tickets, e.ticket)
		age := s.age(e)
		if oldest := s.pool.set.Algorithm.ExpansionAge == ruleset.Oldest; i == 0 || oldest == (age > m.Age) {
			m.Age = age
		}
	}
	for i, t := range s.pool.set.Stages[stage].Teams {
		team := Team{Name: t.Name}
		for _, seat := range teams[i] {
			team.Players = append(team.Players, seat.e.ticket.Players[seat.i])
		}
		m.Teams = append(m.Teams, team)
		m.MaxSize += t.Max
	}
	for _, e := range tickets {
		s.pool.remove(e)
	}
	s.matches = append(s.matches, m)
}
