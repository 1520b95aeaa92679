package match

import (
	"cmp"
	"math"
	"slices"

	"troupe/actors/matchmaker/ruleset"
)

// assignment is the state of the search that assigns one set of tickets to teams.
type assignment struct {
	candidate candidate
	at        *plan
	work      int
	options   [][]int // teams to try, by the index of the ticket
}

// assign finds the first assignment of the set to teams that is a match. It tries teams in the order of
// fillOrder.
func (s *search) assign(at *plan) bool {
	a := &s.teams
	a.at, a.work = at, 0
	a.candidate.tickets = s.tickets
	if a.candidate.teams == nil {
		a.candidate.teams = make([][]seat, len(at.teams))
	}
	for i := range a.candidate.teams {
		a.candidate.teams[i] = a.candidate.teams[i][:0]
	}
	for _, e := range s.tickets {
		for i, t := range e.teams {
			if len(a.candidate.teams[t]) == at.teams[t].Max {
				return false
			}
			a.candidate.teams[t] = append(a.candidate.teams[t], seat{e, i})
		}
	}
	return s.place(0)
}

// place assigns ticket i and those after it to teams.
func (s *search) place(i int) bool {
	a := &s.teams
	for i < len(s.tickets) && s.tickets[i].teams != nil {
		i++
	}
	a.work++
	s.work++
	s.pass.pause(1)
	if s.ended() {
		return false
	}
	if i == len(s.tickets) {
		return reachMinimum(a.at.teams, a.candidate.teams) && s.teamRules(a.at.rules, &a.candidate)
	}
	if !s.enoughLeft(i) {
		return false
	}
	for _, r := range a.at.early[byTeams] {
		if i > 0 && !s.check(r, a.at.pruning, &a.candidate) {
			return false
		}
	}
	e := s.tickets[i]
	for len(a.options) <= i {
		a.options = append(a.options, nil)
	}
	a.options[i] = fillOrder(a.options[i][:0], a.at.teams, a.candidate.teams, e.n)
	for k, t := range a.options[i] {
		if s.pass.pool.set.Symmetric && s.triedEqual(a.options[i][:k], t) {
			continue
		}
		seats := e.seated(a.candidate.teams[t])
		a.candidate.teams[t] = seats
		if s.place(i + 1) {
			return true
		}
		a.candidate.teams[t] = a.candidate.teams[t][:len(seats)-e.n]
		if s.ended() {
			return false
		}
	}
	return false
}

// ended reports whether the budget of the search or of this assignment is spent.
func (s *search) ended() bool {
	s.stopped = s.stopped || s.work > s.budget
	ended := s.stopped || !s.exact && s.teams.work > assignBudget
	s.unproven = s.unproven || ended
	return ended
}

// triedEqual reports whether team t is empty and equivalent to an empty team that was already tried.
func (s *search) triedEqual(tried []int, t int) bool {
	a := &s.teams
	if len(a.candidate.teams[t]) > 0 {
		return false
	}
	return slices.ContainsFunc(tried, func(other int) bool {
		x, y := a.at.teams[other], a.at.teams[t]
		return len(a.candidate.teams[other]) == 0 && x.Min == y.Min && x.Max == y.Max
	})
}

// enoughLeft reports whether ticket i and those after it have enough players to fill all teams to their
// minimum.
func (s *search) enoughLeft(i int) bool {
	players, missing := 0, 0
	for _, e := range s.tickets[i:] {
		if e.teams == nil {
			players += e.n
		}
	}
	for t, seats := range s.teams.candidate.teams {
		missing += max(0, s.teams.at.teams[t].Min-len(seats))
	}
	return players >= missing
}

func reachMinimum(teams []ruleset.Team, seats [][]seat) bool {
	for t := range teams {
		if len(seats[t]) < teams[t].Min {
			return false
		}
	}
	return true
}

// fillOrder appends the teams with room for n players. Teams below their minimum come first, then teams with
// more open slots, then earlier declared teams.
func fillOrder(out []int, teams []ruleset.Team, seats [][]seat, n int) []int {
	for t := range teams {
		if teams[t].Max-len(seats[t]) >= n {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int {
		if x, y := len(seats[a]) < teams[a].Min, len(seats[b]) < teams[b].Min; x != y {
			if x {
				return -1
			}
			return 1
		}
		return cmp.Compare(teams[b].Max-len(seats[b]), teams[a].Max-len(seats[a]))
	})
	return out
}

func (s *search) teamRules(rules []*ruleset.Rule, c *candidate) bool {
	for _, r := range rules {
		if r.Enforced() && s.pass.pool.dependent[r.Index] && !s.check(r, rules, c) {
			return false
		}
	}
	return true
}

// balance makes the averages of the balanced attribute in the teams more equal (flexmatch.md 12). It swaps
// pairs of tickets of equal size that are in different teams. It keeps a swap only if the averages differ
// less after it and legal returns true.
func (p *Pool) balance(f *found, legal func() bool) {
	attribute := p.set.Algorithm.BalancedAttribute
	if attribute < 0 || len(f.teams) < 2 {
		return
	}
	sums := make([]float64, len(f.teams))
	teamOf := make(map[*entry]int, len(f.tickets))
	for t, seats := range f.teams {
		for _, s := range seats {
			sums[t] += s.e.values[s.i][attribute].N
			teamOf[s.e] = t
		}
	}
	spread := func() float64 {
		low, high := math.Inf(1), math.Inf(-1)
		for t, seats := range f.teams {
			if n := float64(len(seats)); n > 0 {
				low, high = min(low, sums[t]/n), max(high, sums[t]/n)
			}
		}
		return high - low
	}
	now := spread()
	for trials, better := 0, true; better; {
		better = false
		for i, a := range f.tickets {
			for _, b := range f.tickets[i+1:] {
				x, y := teamOf[a], teamOf[b]
				if x == y || a.n != b.n || a.teams != nil || b.teams != nil {
					continue
				}
				if trials++; trials > balanceTrials {
					return
				}
				d := (b.numbers[attribute][0] - a.numbers[attribute][0]) * float64(a.n)
				sums[x], sums[y] = sums[x]+d, sums[y]-d
				if after := spread(); after < now-tolerance {
					swap(f.teams[x], a, b)
					swap(f.teams[y], b, a)
					if legal() {
						now, better = after, true
						teamOf[a], teamOf[b] = y, x
						continue
					}
					swap(f.teams[x], b, a)
					swap(f.teams[y], a, b)
				}
				sums[x], sums[y] = sums[x]-d, sums[y]+d
			}
		}
	}
}

// swap replaces ticket a by ticket b in the seats of a team. The tickets have the same size.
func swap(seats []seat, a, b *entry) {
	for i := range seats {
		if seats[i].e == a {
			seats[i].e = b
		}
	}
}
