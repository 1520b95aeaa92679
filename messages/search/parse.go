package search

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"troupe/messages"
)

const (
	// LengthMax is the maximum length of an expression in characters.
	LengthMax = 1024
	// keyMax is the maximum length of a game property's key in characters.
	keyMax = 32
)

// Error says at which position an expression is invalid and what was expected there.
type Error struct {
	Position int // number of the character, counted from 1
	Text     string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("at character %d: %s", e.Position, e.Text) }

// ParseFilter parses a filter expression. The error is an *Error.
func ParseFilter(expression string) (*Filter, error) {
	p := parser{s: expression}
	if err := p.bounded(); err != nil {
		return nil, err
	}
	tree, err := p.or()
	if err != nil {
		return nil, err
	}
	if !p.end() {
		return nil, p.unexpected("AND, OR or the end")
	}
	return &Filter{tree}, nil
}

// ParseSort parses a sort expression. The error is an *Error.
func ParseSort(expression string) (*Sort, error) {
	p := parser{s: expression}
	if err := p.bounded(); err != nil {
		return nil, err
	}
	o, err := p.operand("a field to sort by")
	if err != nil {
		return nil, err
	}
	s := &Sort{by: o}
	if !p.keyword("ASC") {
		s.descending = p.keyword("DESC")
	}
	if !p.end() {
		return nil, p.unexpected("ASC, DESC or the end")
	}
	return s, nil
}

// parser parses an expression from left to right.
type parser struct {
	s  string
	at int // offset in bytes
}

func (p *parser) bounded() error {
	if n := utf8.RuneCountInString(p.s); n > LengthMax {
		return &Error{LengthMax + 1, fmt.Sprintf("the expression has %d characters, at most %d are allowed", n, LengthMax)}
	}
	return nil
}

// or parses: and-expr, { OR, and-expr }.
func (p *parser) or() (condition, error) { return p.joined(p.and, "OR", or) }

// and parses: not-expr, { AND, not-expr }.
func (p *parser) and() (condition, error) { return p.joined(p.not, "AND", and) }

func (p *parser) joined(part func() (condition, error), keyword string, join func(left, right condition) condition) (condition, error) {
	left, err := part()
	for err == nil && p.keyword(keyword) {
		var right condition
		right, err = part()
		left = join(left, right)
	}
	return left, err
}

// not parses: NOT, not-expr | "(", or-expr, ")" | comparison.
func (p *parser) not() (condition, error) {
	if p.keyword("NOT") {
		of, err := p.not()
		return not(of), err
	}
	if !p.take("(") {
		return p.comparison()
	}
	inner, err := p.or()
	if err == nil && !p.take(")") {
		err = p.unexpected("AND, OR or )")
	}
	return inner, err
}

func (p *parser) comparison() (condition, error) {
	o, err := p.operand("a field, NOT or (")
	if err != nil {
		return nil, err
	}
	p.space()
	at := p.at
	for _, c := range comparators {
		switch {
		case !p.take(c.symbol):
			continue
		case c.symbol != "=" && c.symbol != "<>" && o.kind != number:
			return nil, p.fail(at, "%s is compared by = or <> only", o.name)
		}
		want, err := p.value(o)
		if o.kind == text {
			return o.equals(want.text, c.symbol == "<>"), err
		}
		return func(g *messages.GameSession, players int) bool {
			return c.holds(float64(o.number(g, players)), want.number)
		}, err
	}
	return nil, p.unexpected("one of = <> < <= > >=")
}

// operand parses the left side of a comparison.
func (p *parser) operand(expected string) (operand, error) {
	p.space()
	at := p.at
	name := p.word()
	if name == "" {
		return operand{}, p.unexpected(expected)
	}
	if name != properties {
		o, known := fields[name]
		if !known {
			return operand{}, p.fail(at, "%s is not a field", quoted(name))
		}
		return o, nil
	}
	if !strings.HasPrefix(p.s[p.at:], ".") {
		return operand{}, p.unexpected(". and the key of a game property")
	}
	p.at++
	at = p.at
	key := p.word()
	switch n := utf8.RuneCountInString(key); {
	case n == 0:
		return operand{}, p.unexpected("the key of a game property")
	case n > keyMax:
		return operand{}, p.fail(at, "the key of a game property has at most %d characters, this one %d", keyMax, n)
	}
	return property(key), nil
}

// value is a literal. text is set if the operand is a text, otherwise number (true is 1, false is 0).
type value struct {
	text   string
	number float64
}

// value parses the right side of a comparison. It must be a literal of the operand's type.
func (p *parser) value(o operand) (value, error) {
	p.space()
	rest := p.s[p.at:]
	switch o.kind {
	case text:
		if strings.HasPrefix(rest, "'") || strings.HasPrefix(rest, `"`) {
			return p.quoted()
		}
	case number:
		if rest != "" && (rest[0] == '-' || isDigit(rest[0])) {
			return p.number()
		}
	default:
		at := p.at
		switch p.word() {
		case "true":
			return value{number: 1}, nil
		case "false":
			return value{}, nil
		}
		p.at = at
	}
	return value{}, p.unexpected(string(o.kind) + ", as " + o.name + " has")
}

// number parses: [ "-" ], digit, { digit }, [ ".", digit, { digit } ].
func (p *parser) number() (value, error) {
	start := p.at
	if p.s[p.at] == '-' {
		p.at++
	}
	if !p.digits() {
		return value{}, p.unexpected("a digit")
	}
	if strings.HasPrefix(p.s[p.at:], ".") {
		p.at++
		if !p.digits() {
			return value{}, p.unexpected("a digit")
		}
	}
	n, _ := strconv.ParseFloat(p.s[start:p.at], 64) // a number out of range becomes infinite and compares correctly
	return value{number: n}, nil
}

func (p *parser) digits() bool {
	start := p.at
	for p.at < len(p.s) && isDigit(p.s[p.at]) {
		p.at++
	}
	return p.at > start
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// quoted parses a string literal. A backslash escapes the next character.
func (p *parser) quoted() (value, error) {
	start, quote := p.at, p.s[p.at]
	var b strings.Builder
	for p.at++; p.at < len(p.s); p.at++ {
		c := p.s[p.at]
		if c == quote {
			p.at++
			return value{text: b.String()}, nil
		}
		if c == '\\' {
			if p.at++; p.at == len(p.s) {
				break
			}
			c = p.s[p.at] // the first byte of the escaped character; its other bytes are never a quote or a backslash
		}
		b.WriteByte(c)
	}
	return value{}, p.fail(start, "the string has no closing %c", quote)
}

func (p *parser) space() {
	p.at = len(p.s) - len(strings.TrimLeftFunc(p.s[p.at:], unicode.IsSpace))
}

func (p *parser) end() bool {
	p.space()
	return p.at == len(p.s)
}

func (p *parser) take(symbol string) bool {
	p.space()
	if !strings.HasPrefix(p.s[p.at:], symbol) {
		return false
	}
	p.at += len(symbol)
	return true
}

// keyword parses a keyword if it comes next. Case does not matter.
func (p *parser) keyword(name string) bool {
	p.space()
	at := p.at
	if strings.EqualFold(p.word(), name) { // D-224
		return true
	}
	p.at = at
	return false
}

// word parses a name or a key. The result may be empty.
func (p *parser) word() string {
	rest := p.s[p.at:]
	n := strings.IndexFunc(rest, func(c rune) bool { return unicode.IsSpace(c) || strings.ContainsRune(`.()<>='"`, c) })
	if n < 0 {
		n = len(rest)
	}
	p.at += n
	return rest[:n]
}

// unexpected returns the error for an unexpected next symbol.
func (p *parser) unexpected(expected string) error {
	p.space()
	if p.at == len(p.s) {
		return p.fail(p.at, "expected %s, found the end", expected)
	}
	at := p.at
	found := p.word()
	if found == "" {
		_, n := utf8.DecodeRuneInString(p.s[at:])
		found = p.s[at : at+n]
	}
	return p.fail(at, "expected %s, found %s", expected, quoted(found))
}

func (p *parser) fail(at int, format string, args ...any) error {
	return &Error{utf8.RuneCountInString(p.s[:at]) + 1, fmt.Sprintf(format, args...)}
}

// quoted returns a part of an expression for an error message, shortened and in quotes.
func quoted(s string) string {
	const shown = 64
	if len(s) > shown {
		return strconv.Quote(s[:shown]) + "..."
	}
	return strconv.Quote(s)
}
