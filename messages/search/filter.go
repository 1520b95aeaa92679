package search

import "troupe/messages"

// comparator compares an operand with a value.
type comparator uint8

const (
	equal comparator = iota + 1
	less
	greater
	notEqual
	atMost
	atLeast

	lastComparator = atLeast
)

var comparatorNames = [...]string{"", "=", "<", ">", "<>", "<=", ">="}

// value is a literal: text if the operand is a text, otherwise number (true is 1).
type value struct {
	text   string
	number float64
}

// node is a part of an expression. Emit adds its code and returns its entry address; the code continues at one of the two given addresses.
type node interface {
	emit(code *[]step, ifTrue, ifFalse int) int
}

type (
	or         struct{ left, right node }
	and        struct{ left, right node }
	not        struct{ of node }
	comparison struct {
		operand    operand
		comparator comparator
		value      value
	}
)

// step is one comparison of a compiled expression.
type step struct {
	comparison
	ifTrue, ifFalse int // address of the next step, or a result
}

// Results of an expression, as addresses.
const (
	matched   = -1
	unmatched = -2
)

// Filter is a filter expression. A nil Filter matches every game session. Immutable.
type Filter struct {
	code  []step
	entry int
}

func compile(tree node) *Filter {
	f := new(Filter)
	f.entry = tree.emit(&f.code, matched, unmatched)
	return f
}

func (n or) emit(code *[]step, ifTrue, ifFalse int) int {
	return n.left.emit(code, ifTrue, n.right.emit(code, ifTrue, ifFalse))
}

func (n and) emit(code *[]step, ifTrue, ifFalse int) int {
	return n.left.emit(code, n.right.emit(code, ifTrue, ifFalse), ifFalse)
}

func (n not) emit(code *[]step, ifTrue, ifFalse int) int { return n.of.emit(code, ifFalse, ifTrue) }

func (n comparison) emit(code *[]step, ifTrue, ifFalse int) int {
	*code = append(*code, step{n, ifTrue, ifFalse})
	return len(*code) - 1
}

// Matches reports whether the expression holds for a game session with the given number of
// players; it ignores CurrentPlayers of the record. Safe for concurrent use.
func (f *Filter) Matches(g *messages.GameSession, players int) bool {
	if f == nil {
		return true
	}
	at := f.entry
	for at >= 0 {
		if s := &f.code[at]; s.holds(g, players) {
			at = s.ifTrue
		} else {
			at = s.ifFalse
		}
	}
	return at == matched
}

// holds evaluates the comparison. An absent value is equal to nothing.
func (n *comparison) holds(g *messages.GameSession, players int) bool {
	if n.operand.kind() == text {
		s, there := n.operand.text(g)
		return (there && s == n.value.text) == (n.comparator == equal) // D-225
	}
	have, want := float64(n.operand.number(g, players)), n.value.number
	switch n.comparator {
	case equal:
		return have == want
	case notEqual:
		return have != want
	case less:
		return have < want
	case greater:
		return have > want
	case atMost:
		return have <= want
	default:
		return have >= want
	}
}
