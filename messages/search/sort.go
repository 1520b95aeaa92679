package search

import (
	"cmp"
	"container/heap"
	"iter"
	"slices"
	"strings"

	"troupe/messages"
)

// Sort is an order of game sessions. Immutable.
type Sort struct {
	by         operand
	descending bool
}

// Oldest and Newest are the orders without a sort expression, by time of creation in us.
func Oldest() *Sort { return &Sort{by: operand{field: fieldExact}} }
func Newest() *Sort { return &Sort{by: operand{field: fieldExact}, descending: true} }

// Position is that of a game session in an order.
type Position = messages.GameSessionPosition

// Position returns the position of a game session with the given number of players.
func (s *Sort) Position(g *messages.GameSession, players int) Position {
	p := Position{ID: g.ID}
	if s.by.kind() == text {
		t, there := s.by.text(g)
		p.Text, p.Absent = t, !there
	} else {
		p.Number = s.by.number(g, players)
	}
	return p
}

// Compare orders two positions. In both directions, a game session without a value comes last,
// and among equals the lower id comes first.
func (s *Sort) Compare(a, b Position) int {
	if a.Absent != b.Absent {
		if a.Absent {
			return 1
		}
		return -1
	}
	c := cmp.Or(cmp.Compare(a.Number, b.Number), strings.Compare(a.Text, b.Text))
	if s.descending {
		c = -c
	}
	return cmp.Or(c, strings.Compare(string(a.ID), string(b.ID)))
}

// Shorten returns a position with at most n+1 bytes of text, which is Cut if it differs from p. A
// cut position comes before all positions that begin with the same n bytes. So a list that
// continues there may repeat some of them, but misses none.
func (s *Sort) Shorten(p Position, n int) Position {
	if len(p.Text) <= n {
		return p
	}
	p.Text, p.Cut = strings.Clone(p.Text[:n]), true
	if s.descending {
		p.Text += "\xff" // greater than any continuation: no text contains this byte
	}
	return p
}

// Found is a game session with the number of its RESERVED and ACTIVE player sessions.
type Found struct {
	*messages.GameSession
	Players int
}

// First returns the first n game sessions of the order that match the filter and come after
// behind; nil means from the start. It reads all once, and keeps no more than n game sessions at
// a time. The result is sorted.
func (s *Sort) First(n int, all iter.Seq2[*messages.GameSession, int], f *Filter, behind *Position) []Found {
	if n <= 0 {
		return nil
	}
	kept := ranking{sort: s}
	for g, players := range all {
		if !f.Matches(g, players) {
			continue
		}
		p := s.Position(g, players)
		switch {
		case behind != nil && s.Compare(p, *behind) <= 0:
		case len(kept.all) < n:
			heap.Push(&kept, ranked{p, Found{g, players}})
		case s.Compare(p, kept.all[0].at) < 0:
			kept.all[0] = ranked{p, Found{g, players}}
			heap.Fix(&kept, 0)
		}
	}
	slices.SortFunc(kept.all, func(a, b ranked) int { return s.Compare(a.at, b.at) })
	found := make([]Found, len(kept.all))
	for i, r := range kept.all {
		found[i] = r.found
	}
	return found
}

type ranked struct {
	at    Position
	found Found
}

// ranking is a heap; its top is the last game session in the order.
type ranking struct {
	sort *Sort
	all  []ranked
}

func (r *ranking) Len() int           { return len(r.all) }
func (r *ranking) Less(i, j int) bool { return r.sort.Compare(r.all[i].at, r.all[j].at) > 0 }
func (r *ranking) Swap(i, j int)      { r.all[i], r.all[j] = r.all[j], r.all[i] }
func (r *ranking) Push(x any)         { r.all = append(r.all, x.(ranked)) }
func (r *ranking) Pop() any           { panic("search: a ranking only grows") }
