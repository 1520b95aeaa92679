package search

import (
	"strings"

	"troupe/messages"
)

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
	source string // of a number or boolean, as it was written
}

// node is a part of an expression.
type node interface {
	// emit adds the code of the node and returns its entry address. The code continues at
	// one of the two given addresses.
	emit(code *[]step, ifTrue, ifFalse int) int
	// print writes the node, in parentheses if it binds less tightly than place requires.
	print(b *strings.Builder, place precedence)
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
	tree  node
	code  []step
	entry int
}

func compile(tree node) *Filter {
	f := &Filter{tree: tree}
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

// precedence says how tightly a node binds.
type precedence uint8

const (
	bindsOr precedence = iota
	bindsAnd
	bindsNot
)

// String returns an expression that means the same, with no more parentheses than it needs.
func (f *Filter) String() string {
	var b strings.Builder
	f.tree.print(&b, bindsOr)
	return b.String()
}

func (n or) print(b *strings.Builder, place precedence) {
	inParentheses(b, place > bindsOr, func() {
		n.left.print(b, bindsOr)
		b.WriteString(" OR ")
		n.right.print(b, bindsAnd) // left-associative: the right operand must bind tighter
	})
}

func (n and) print(b *strings.Builder, place precedence) {
	inParentheses(b, place > bindsAnd, func() {
		n.left.print(b, bindsAnd)
		b.WriteString(" AND ")
		n.right.print(b, bindsNot)
	})
}

func (n not) print(b *strings.Builder, _ precedence) {
	b.WriteString("NOT ")
	n.of.print(b, bindsNot)
}

func (n comparison) print(b *strings.Builder, _ precedence) {
	b.WriteString(n.operand.String())
	b.WriteString(comparatorNames[n.comparator])
	if n.operand.kind() != text {
		b.WriteString(n.value.source)
		return
	}
	b.WriteByte('\'')
	for _, c := range []byte(n.value.text) {
		if c == '\'' || c == '\\' {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	b.WriteByte('\'')
}

func inParentheses(b *strings.Builder, needed bool, inner func()) {
	if needed {
		b.WriteByte('(')
	}
	inner()
	if needed {
		b.WriteByte(')')
	}
}
