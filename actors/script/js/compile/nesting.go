package compile

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Both parsers and both compilers recurse: over brackets, over chains of operators,
// over statements without braces. A Go stack that overflows ends the process, so
// source is bounded before they see it. One level costs up to 10 KiB of stack, and
// esbuild's time grows with the cube of nested functions (480: 3 s), the engine's
// doubles with each default value inside another one's parentheses.
const (
	nestMax   = 300    // brackets, templates, arrow functions, statements without braces, labels
	chainMax  = 6_000  // operators and prefixes of all statements that are open at a place
	commaMax  = 5_000  // operands of one comma expression
	assignMax = 10     // assignments in parentheses inside one another
	jsonMax   = 10_000 // brackets of JSON inside one another
	unsureMax = 5_000  // all of these together, where comments or regular expressions are in doubt
)

// level is an open bracket, and what its current statement has so far.
type level struct {
	kind    byte // ( [ { ` or 0 for the file
	object  bool // a { that may be an object literal or pattern
	control bool // a ( of if, for, while or with
	chain   int
	before  int // chain of the last statement: an else goes on with it
	nested  int // arrow functions, statements without braces, labels
	commas  int
	assign  bool
}

// scan reads source token by token. Where the text alone does not tell a regular
// expression from a division it counts what both could mean, or is unsure.
type scan struct {
	text   string
	at     int
	levels []level

	chain, nested, assigns int // sums over levels
	count                  int
	unsure                 bool

	prev    string // last token; a name for names, "0" for other operands
	before  string // the one before
	newline bool   // one was passed since prev
}

// check refuses source that is nested too deeply for the parsers.
func check(name, text string) error {
	s := &scan{text: text, levels: []level{{}}}
	for s.next() {
		what := ""
		switch {
		case len(s.levels)+s.nested > nestMax:
			what = fmt.Sprintf("more than %d levels", nestMax)
		case s.chain > chainMax:
			what = fmt.Sprintf("a chain of more than %d operators", chainMax)
		case s.top().commas > commaMax:
			what = fmt.Sprintf("a chain of more than %d commas", commaMax)
		case s.assigns > assignMax:
			what = fmt.Sprintf("more than %d assignments inside one another's parentheses", assignMax)
		case s.unsure && s.count > unsureMax:
			what = "a comment or regular expression that may mean two things"
		default:
			continue
		}
		line := 1 + strings.Count(text[:s.at], "\n")
		column := 1 + utf8.RuneCountInString(text[strings.LastIndexByte(text[:s.at], '\n')+1:s.at])
		return &Error{File: name, Line: line, Column: column, Message: "source is nested too deeply: " + what + "; " + useNode}
	}
	return nil
}

// checkJSON does so for JSON, and counts the lists and objects in it.
func checkJSON(name, text string) (containers int64, err error) {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
			if c == '\\' {
				i++
			}
		case c == '[' || c == '{':
			containers++
			if depth++; depth > jsonMax {
				return containers, &Error{File: name, Message: fmt.Sprintf("JSON is nested more than %d levels deep", jsonMax)}
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return containers, nil
}

func (s *scan) top() *level { return &s.levels[len(s.levels)-1] }

// next takes one token, and reports false at the end.
func (s *scan) next() bool {
	s.space()
	if s.at >= len(s.text) {
		return false
	}
	switch c := s.text[s.at]; {
	case c == '"' || c == '\'':
		s.operand("0")
		s.quoted(c)
	case c == '`':
		s.at++
		s.link()
		s.push('`')
		s.template()
	case c >= '0' && c <= '9' || c == '.' && s.at+1 < len(s.text) && s.text[s.at+1] >= '0' && s.text[s.at+1] <= '9':
		s.operand("0")
		s.word(true)
	case wordByte(c) || c == '#' || c == '@':
		s.name()
	case c == '/':
		s.slash()
	default:
		s.punctuation(c)
	}
	return true
}

// space passes white space and comments.
func (s *scan) space() {
	for s.at < len(s.text) {
		rest := s.text[s.at:]
		switch c := rest[0]; {
		case c == '\n' || c == '\r':
			s.newline = true
			s.at++
		case c == ' ' || c == '\t' || c == '\v' || c == '\f':
			s.at++
		case strings.HasPrefix(rest, "\u2028") || strings.HasPrefix(rest, "\u2029"):
			s.newline = true
			s.at += 3
		case strings.HasPrefix(rest, "\u00a0"):
			s.at += 2
		case strings.HasPrefix(rest, "\ufeff"):
			s.at += 3
		case strings.HasPrefix(rest, "//"):
			s.at += lineEnd(rest)
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				s.at = len(s.text)
				return
			}
			s.newline = s.newline || strings.ContainsAny(rest[:end+2], "\n\r\u2028\u2029")
			s.at += end + 4
		default:
			return
		}
	}
}

// lineEnd returns the length of the rest of a line.
func lineEnd(s string) int {
	if i := strings.IndexAny(s, "\n\r\u2028\u2029"); i >= 0 {
		return i
	}
	return len(s)
}

// wordByte reports whether c is part of a name or a number.
func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '\\' || c >= 0x80
}

// word passes a name or a number and returns it.
func (s *scan) word(number bool) string {
	from := s.at
	for s.at < len(s.text) {
		c := s.text[s.at]
		if c >= 0x80 && (strings.HasPrefix(s.text[s.at:], "\u2028") || strings.HasPrefix(s.text[s.at:], "\u2029") || strings.HasPrefix(s.text[s.at:], "\ufeff") || strings.HasPrefix(s.text[s.at:], "\u00a0")) {
			break
		}
		// \u{61} has braces that are none.
		if c == '\\' && strings.HasPrefix(s.text[s.at:], `\u{`) {
			if end := strings.IndexByte(s.text[s.at:], '}'); end > 0 && end < 12 {
				s.at += end + 1
				continue
			}
		}
		if !wordByte(c) && !(number && c == '.') {
			break
		}
		s.at++
	}
	return s.text[from:s.at]
}

// quoted passes a string; one that the line ends is an error of the parser's.
func (s *scan) quoted(q byte) {
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == q:
			s.at++
			return
		case c == '\\':
			if s.at++; s.at+1 < len(s.text) && s.text[s.at] == '\r' && s.text[s.at+1] == '\n' {
				s.at++
			}
		case c == '\n' || c == '\r':
			return
		}
	}
}

// template passes the text of a template up to its end or to a substitution.
func (s *scan) template() {
	for ; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case '\\':
			s.at++
		case '`':
			s.at++
			s.pop('`')
			s.set("0")
			return
		case '$':
			if s.at+1 < len(s.text) && s.text[s.at+1] == '{' {
				s.at += 2
				s.push('{')
				s.set("${")
				return
			}
		}
	}
}
