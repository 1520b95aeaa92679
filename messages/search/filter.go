package search

import "troupe/messages"

// condition is a part of an expression, for a game session with a number of players.
type condition func(g *messages.GameSession, players int) bool

// comparators are the comparators between numbers, longer symbols first.
var comparators = []struct {
	symbol string
	holds  func(have, want float64) bool
}{
	{"<>", func(have, want float64) bool { return have != want }},
	{"<=", func(have, want float64) bool { return have <= want }},
	{">=", func(have, want float64) bool { return have >= want }},
	{"=", func(have, want float64) bool { return have == want }},
	{"<", func(have, want float64) bool { return have < want }},
	{">", func(have, want float64) bool { return have > want }},
}

// Filter is a filter expression. A nil Filter matches every game session. Immutable.
type Filter struct{ holds condition }

// Matches reports whether the expression holds for a game session with so many players, whatever the record's CurrentPlayers.
func (f *Filter) Matches(g *messages.GameSession, players int) bool {
	return f == nil || f.holds(g, players)
}

func or(left, right condition) condition {
	return func(g *messages.GameSession, players int) bool { return left(g, players) || right(g, players) }
}

func and(left, right condition) condition {
	return func(g *messages.GameSession, players int) bool { return left(g, players) && right(g, players) }
}

func not(of condition) condition {
	return func(g *messages.GameSession, players int) bool { return !of(g, players) }
}

// equals compares a text operand, or the opposite. An absent value is equal to nothing.
func (o operand) equals(want string, opposite bool) condition {
	return func(g *messages.GameSession, _ int) bool {
		have, there := o.text(g)
		return (there && have == want) != opposite // D-225
	}
}
