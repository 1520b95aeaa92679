package modules

import (
	"fmt"
	"unicode/utf16"
)

// JSONFault says where a text is not JSON, in the words of Node.js 20, as the engine's
// own words name neither the place nor what was expected. at counts UTF-16 units; an
// empty message: nothing is wrong.
func JSONFault(text string) (message string, at int) {
	s := &jsonScan{text: utf16.Encode([]rune(text))}
	s.run()
	return s.message, s.at
}

// jsonScan stops where the text is wrong. It keeps the open brackets itself: the text
// may be nested deeply.
type jsonScan struct {
	text    []uint16
	at      int
	message string
}

const jsonEnd = -1 // after the last character

func (s *jsonScan) peek() int {
	if s.at >= len(s.text) {
		return jsonEnd
	}
	return int(s.text[s.at])
}

func (s *jsonScan) space() {
	for c := s.peek(); c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = s.peek() {
		s.at++
	}
}

// fail says what was expected; it returns false.
func (s *jsonScan) fail(message string) bool {
	s.message = fmt.Sprintf("%s in JSON at position %d", message, s.at)
	return false
}

// unexpected is fail where no certain thing was expected.
func (s *jsonScan) unexpected() bool {
	const around = 10
	c := s.peek()
	text := func(from, to int) string { return string(utf16.Decode(s.text[from:to])) }
	whole := text(0, min(len(s.text), 2*around+1))
	switch {
	case c == jsonEnd:
		s.message = "Unexpected end of JSON input"
		return false
	case c == '-' || c >= '0' && c <= '9':
		return s.fail("Unexpected number")
	case c == '"':
		return s.fail("Unexpected string")
	case s.at == 0 && (whole == "undefined" || whole == "NaN" || whole == "Infinity" || whole == "[object Object]"), s.at == 1 && whole == "[object Object]":
		s.message = fmt.Sprintf(`"%s" is not valid JSON`, whole)
		return false
	}
	before, after := "", ""
	from, to := 0, len(s.text)
	if to > 2*around {
		if s.at >= around {
			from, before = s.at-around, "..."
		}
		if s.at < around || s.at < to-around {
			to, after = s.at+around, "..."
		}
	}
	s.message = fmt.Sprintf(`Unexpected token '%s', %s"%s"%s is not valid JSON`, text(s.at, s.at+1), before, text(from, to), after)
	return false
}

func (s *jsonScan) run() {
	var open []byte // brackets
	for {
		s.space()
		switch s.peek() {
		case '[', '{':
			bracket := byte(s.peek())
			s.at++
			s.space()
			if s.peek() != int(bracket)+2 { // its counterpart
				open = append(open, bracket)
				if bracket == '{' && !s.key("Expected property name or '}'", true) {
					return
				}
				continue
			}
			s.at++
		default:
			if !s.scalar() {
				return
			}
		}
		for {
			s.space()
			if len(open) == 0 {
				if s.peek() != jsonEnd {
					s.message = fmt.Sprintf("Unexpected non-whitespace character after JSON at position %d", s.at)
				}
				return
			}
			bracket := open[len(open)-1]
			if s.peek() == ',' {
				if s.at++; bracket == '{' && !s.key("Expected double-quoted property name", false) {
					return
				}
				break
			}
			if s.peek() != int(bracket)+2 {
				if bracket == '{' {
					s.fail("Expected ',' or '}' after property value")
				} else {
					s.fail("Expected ',' or ']' after array element")
				}
				return
			}
			s.at++
			open = open[:len(open)-1]
		}
	}
}

// key passes a property's name and its colon.
func (s *jsonScan) key(expected string, first bool) bool {
	if s.space(); s.peek() != '"' {
		return s.fail(expected)
	}
	if !s.quoted() {
		return false
	}
	if s.space(); s.peek() != ':' {
		if first {
			return s.fail("Expected ':' after property name")
		}
		return s.unexpected()
	}
	s.at++
	return true
}

func (s *jsonScan) scalar() bool {
	switch c := s.peek(); {
	case c == '"':
		return s.quoted()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.unexpected()
}

func (s *jsonScan) word(word string) bool {
	for i := range len(word) {
		if s.peek() != int(word[i]) {
			return s.unexpected()
		}
		s.at++
	}
	return true
}

// digits passes digits, of which there must be one.
func (s *jsonScan) digits() bool {
	from := s.at
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > from
}

func (s *jsonScan) number() bool {
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		if s.at++; s.peek() >= '0' && s.peek() <= '9' {
			return s.unexpected()
		}
	} else if !s.digits() {
		return s.fail("No number after minus sign")
	}
	if s.peek() == '.' {
		if s.at++; !s.digits() {
			return s.fail("Unterminated fractional number")
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		if s.at++; s.peek() == '+' || s.peek() == '-' {
			s.at++
		}
		if !s.digits() {
			return s.fail("Exponent part is missing a number")
		}
	}
	return true
}

func (s *jsonScan) quoted() bool {
	for s.at++; ; s.at++ {
		switch c := s.peek(); {
		case c == jsonEnd:
			return s.fail("Unterminated string")
		case c == '"':
			s.at++
			return true
		case c == '\\':
			s.at++
			switch s.peek() {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case jsonEnd:
				return s.unexpected()
			case 'u':
				for range 4 {
					s.at++
					if c := s.peek(); !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
						return s.fail("Bad Unicode escape")
					}
				}
			default:
				return s.fail("Bad escaped character")
			}
		case c < ' ':
			return s.fail("Bad control character in string literal")
		}
	}
}
