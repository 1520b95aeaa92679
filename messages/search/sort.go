package search

import (
	"cmp"
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
func Oldest() *Sort { return &Sort{by: created} }
func Newest() *Sort { return &Sort{by: created, descending: true} }

// Position is that of a game session in an order.
type Position = messages.GameSessionPosition

// Position returns the position of a game session with the given number of players.
func (s *Sort) Position(g *messages.GameSession, players int) Position {
	p := Position{ID: g.ID}
	if s.by.kind == text {
		t, there := s.by.text(g)
		p.Text, p.Absent = t, !there
	} else {
		p.Number = s.by.number(g, players)
	}
	return p
}

// Compare orders two positions: in both directions, without a value comes last, and among equals the lower id first.
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

// Shorten returns a position with at most n+1 bytes of text, Cut if it differs from p. A cut one comes
// before all that begin with the same n bytes, so a list may repeat some there, but misses none.
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

// First returns, in order, the first n game sessions that match and come after behind, if not
// nil. It reads all once, and keeps fewer than 2 n at a time.
func (s *Sort) First(n int, all iter.Seq2[*messages.GameSession, int], f *Filter, behind *Position) []Found {
	if n <= 0 {
		return nil
	}
	type ranked struct {
		at    Position
		found Found
	}
	var kept []ranked
	var last *Position // the n-th so far
	order := func(a, b ranked) int { return s.Compare(a.at, b.at) }
	for g, players := range all {
		if !f.Matches(g, players) {
			continue
		}
		p := s.Position(g, players)
		if behind != nil && s.Compare(p, *behind) <= 0 || last != nil && s.Compare(p, *last) >= 0 {
			continue
		}
		if kept = append(kept, ranked{p, Found{g, players}}); len(kept) == 2*n {
			slices.SortFunc(kept, order)
			kept = kept[:n]
			last = &kept[n-1].at
		}
	}
	slices.SortFunc(kept, order)
	found := make([]Found, min(n, len(kept)))
	for i := range found {
		found[i] = kept[i].found
	}
	return found
}
