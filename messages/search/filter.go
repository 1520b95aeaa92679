package search

import "troupe/messages"

// condition is a part of an expression. It is evaluated for a game session and its number of players.
type condition func(g *messages.GameSession, players int) bool

// comparators compare numbers. Longer symbols come first, because a shorter one may be a prefix of a longer one.
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

// Filter is a filter expression. A nil Filter matches every game session. It is immutable.
type Filter struct{ holds condition }

// Matches reports whether the expression holds for a game session with the given number of players. It ignores the
// record's CurrentPlayers.
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

// equals returns a condition that compares a text operand with want. If opposite is true, the condition is negated. An
// absent value is not equal to anything.
func (o operand) equals(want string, opposite bool) condition {
	return func(g *messages.GameSession, _ int) bool {
		have, there := o.text(g)
		return (there && have == want) != opposite // D-225
	}
}
