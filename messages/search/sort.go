package search

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"troupe/messages"
)

// Sort is a sort order of game sessions. It is immutable.
type Sort struct {
	by         operand
	descending bool
}

// Oldest and Newest return the orders that are used without a sort expression. They sort by creation time in us.
func Oldest() *Sort { return &Sort{by: created} }
func Newest() *Sort { return &Sort{by: created, descending: true} }

// Position is the position of a game session in a sort order.
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

// Compare compares two positions. In both directions, positions without a value come last, and of equal values the
// lower id comes first.
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

// Shorten returns a position with at most n+1 bytes of text. Cut is set if the text was shortened. A cut position comes
// before all positions whose text begins with the same n bytes. So a list that continues there may repeat some game
// sessions but misses none.
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

// First returns the first n matching game sessions, in order. If behind is not nil, it returns only those that come
// after behind. First reads all game sessions once and keeps fewer than 2 n at a time.
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
