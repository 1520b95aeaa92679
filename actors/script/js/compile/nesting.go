package compile

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Both parsers and both compilers recurse: over brackets, chains of operators, and statements without braces. A Go stack that overflows ends the process, so
// source is bounded before they see it. One level takes up to 10 KiB of stack. The time of esbuild grows with the cube of nested functions (480: 3 s).
// The time of the engine doubles with each default value inside the parentheses of another one.
const (
	depthMax  = 6_000  // cost of all statements that are open at one place: 1 for an operator or prefix, nestCost for what nests
	nestCost  = 20     // a bracket, template, arrow function, statement without braces or label
	assignMax = 10     // assignments in parentheses inside one another
	jsonMax   = 10_000 // brackets of JSON inside one another
	unsureMax = 5_000  // operators, prefixes and brackets of a file in which a comment or a regular expression is in doubt
)

// Tokens, and what is between them. A string without its end is an error for the parser.
var (
	blank    = regexp.MustCompile(`^(?s:[\s\v\x{a0}\x{feff}\x{2028}\x{2029}]|//[^\n\r\x{2028}\x{2029}]*|/\*.*?(?:\*/|\z))+`)
	quoted   = regexp.MustCompile(`^(?s:"(?:[^"\\\n\r]|\\(?:\r\n|.))*"?|'(?:[^'\\\n\r]|\\(?:\r\n|.))*'?)`)
	template = regexp.MustCompile("^(?s:[^`\\\\]|\\\\.)*?(?:`|\\$\\{|\\z)")
	word     = regexp.MustCompile(`^[#@]?(?:[\w$]|\\u\{[^}]{0,8}\}|\\|[^\x00-\x7f\x{a0}\x{feff}\x{2028}\x{2029}])*`)
	number   = regexp.MustCompile(`^[\w$.]+`)
	pattern  = regexp.MustCompile(`^/(?:[^/[\\\n\r\x{2028}\x{2029}]|\\[^\n\r]|\[(?:[^]\\\n\r\x{2028}\x{2029}]|\\[^\n\r])*\])+/[\w$]*`)
)

// Names, by what they do to their statement.
var (
	prefixes = Words("new await typeof void delete yield return throw case extends do async default if for while with try switch")
	infixes  = Words("in of instanceof as is satisfies else catch finally")
	controls = Words("if for while with")
	doubtful = Words("} ++ -- of yield await async as is satisfies default") // before a / of either kind
)

// Words returns a set of words that stand in a text, apart.
func Words(names string) map[string]bool {
	m := make(map[string]bool)
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

// level is an open bracket with its current statement.
type level struct {
	kind    byte // ( [ { ` or 0 for the file
	object  bool // a { that may be an object literal or pattern
	control bool // a ( of if, for, while or with
	assign  bool
	cost    int
	before  int // cost of the last statement, which an else continues
	commas  int
}

// scan reads source token by token. Where a regular expression could be a division, it counts what both could mean, or is unsure.
type scan struct {
	text   string
	at     int
	levels []level

	cost, assigns int // sums over levels
	count         int
	unsure        bool

	prev   string // last token; a name for names, "0" for other operands
	before string // the one before
}

// check refuses source that is nested too deeply for the parsers.
func check(name, text string) error {
	s := &scan{text: text, levels: []level{{}}}
	for s.next() {
		what := ""
		switch {
		case s.cost > depthMax:
			what = fmt.Sprintf("more than %d levels, or a chain of more than %d operators or commas", depthMax/nestCost, depthMax)
		case s.assigns > assignMax:
			what = fmt.Sprintf("more than %d assignments inside one another's parentheses", assignMax)
		case s.unsure && s.count > unsureMax:
			what = "a comment or regular expression that may mean two things"
		default:
			continue
		}
		line := 1 + strings.Count(text[:s.at], "\n")
		column := 1 + utf8.RuneCountInString(text[strings.LastIndexByte(text[:s.at], '\n')+1:s.at])
		return &Error{File: name, Line: line, Column: column, Message: "source is nested too deeply: " + what + "; " + UseNode}
	}
	return nil
}

// CheckJSON refuses JSON that is nested so deeply that the engine's parser would overflow the stack, which ends the process. It returns how many lists
// and objects are in it. Name is that of the file, for the error.
func CheckJSON(name, text string) (containers int64, err error) {
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

// take passes a token, or what is between tokens, and returns it.
func (s *scan) take(token *regexp.Regexp) string {
	t := s.text[s.at:][:max(0, end(token, s.text[s.at:]))]
	s.at += len(t)
	return t
}

// end returns the end of a token at the start of a text, or -1.
func end(token *regexp.Regexp, text string) int {
	if at := token.FindStringIndex(text); at != nil {
		return at[1]
	}
	return -1
}

// next takes one token; false: there is none.
func (s *scan) next() bool {
	s.skip(spaceByte)
	if s.at < len(s.text) && (s.text[s.at] == '/' || s.text[s.at] >= 0x80) {
		s.take(blank)
	}
	if s.at >= len(s.text) {
		return false
	}
	switch c := s.text[s.at]; {
	case c == '"' || c == '\'':
		s.operand("0")
		s.take(quoted)
	case c == '`':
		s.at++
		s.add(1)
		s.push('`')
		s.literal()
	case c >= '0' && c <= '9' || c == '.' && s.at+1 < len(s.text) && s.text[s.at+1] >= '0' && s.text[s.at+1] <= '9':
		s.operand("0")
		s.take(number)
	case wordByte(c) || c == '#' || c == '@':
		s.name()
	case c == '/':
		s.slash()
	default:
		s.punctuation(c)
	}
	return true
}

// skip passes bytes of a kind, in a tenth of the time of a regular expression.
func (s *scan) skip(kind func(c byte) bool) {
	for s.at < len(s.text) && kind(s.text[s.at]) {
		s.at++
	}
}

func spaceByte(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

func plainByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$'
}

// wordByte reports whether c is part of a name or a number.
func wordByte(c byte) bool { return plainByte(c) || c == '\\' || c >= 0x80 }

func (s *scan) set(token string) { s.before, s.prev = s.prev, token }

func (s *scan) add(cost int) {
	s.top().cost += cost
	s.cost += cost
	s.count++
}

// ends ends a statement, an operand of a comma or an element.
func (s *scan) ends() {
	l := s.top()
	s.cost -= l.cost
	if l.assign {
		s.assigns--
	}
	l.before, l.cost, l.assign = l.cost, 0, false
}

func (s *scan) push(kind byte) {
	l := level{kind: kind, control: kind == '(' && controls[s.prev] && s.before != "."}
	if kind == '{' {
		switch s.prev {
		case "", ";", ")", ")!", "}", "{", "=>", "else", "do", "try", "finally":
		default:
			l.object = true
		}
	}
	s.levels = append(s.levels, l)
	s.cost += nestCost
	s.count++
}

// pop closes a bracket. One that does not fit is an error for the parser. Calls, indexes and blocks count: there may be many in a row.
func (s *scan) pop(kind byte) (closed level) {
	if closed = *s.top(); len(s.levels) == 1 || closed.kind != kind {
		return level{}
	}
	s.ends()
	s.levels = s.levels[:len(s.levels)-1]
	s.cost -= nestCost
	s.add(1)
	return closed
}

// valued reports whether a value may end with the last token.
func (s *scan) valued() bool {
	return s.prev == "0" || s.prev == ")" || s.prev == "]" || s.prev == "}" || s.prev != "" && wordByte(s.prev[0]) && !prefixes[s.prev] && !infixes[s.prev]
}

// operand notes an operand. Directly after another operand, it begins a statement.
func (s *scan) operand(token string) {
	if s.valued() || s.prev == "catch" || s.prev == "finally" {
		s.ends()
		s.top().commas = 0
	}
	s.set(token)
}

// name takes a name or a keyword.
func (s *scan) name() {
	if s.text[s.at] == '@' {
		s.add(1)
		s.set("@")
	}
	from := s.at
	if s.skip(plainByte); s.at == from || s.at < len(s.text) && wordByte(s.text[s.at]) {
		s.take(word)
	}
	switch word := strings.TrimLeft(s.text[from:s.at], "#@"); {
	case s.prev == "." || s.prev == "?.":
		s.set("0")
	case infixes[word]:
		if l := s.top(); word == "else" && (s.prev == ";" || s.prev == "}") {
			// It continues the statement that seemed to be over.
			s.cost += l.before
			l.cost += l.before
			l.before = 0
		}
		s.add(1)
		s.set(word)
	default:
		if s.operand(word); controls[word] && s.before != "else" || word == "do" {
			s.add(nestCost)
		}
		if prefixes[word] || word == "class" || word == "function" {
			s.add(1)
		}
	}
}

func (s *scan) slash() {
	length := -1
	if !s.valued() || doubtful[s.prev] {
		length = end(pattern, s.text[s.at:])
	}
	if length < 0 {
		s.at++
		s.add(1)
		s.set("/")
		return
	}
	if !doubtful[s.prev] {
		s.operand("0")
	} else {
		either := s.text[s.at+1 : min(s.at+length+1, len(s.text))]
		s.unsure = s.unsure || strings.ContainsAny(either[:length-1], "'\"`") || strings.Contains(either, "/*") || strings.Contains(either, "//")
		s.add(length) // it may be so many operators
		s.set("}")    // the next / is in doubt, too
	}
	s.at += length
}

// literal passes the text of a template up to its end or a substitution.
func (s *scan) literal() {
	if strings.HasSuffix(s.take(template), "{") {
		s.push('{')
		s.set("${")
		return
	}
	s.pop('`')
	s.set("0")
}

func (s *scan) punctuation(c byte) {
	rest := s.text[s.at:]
	s.at++
	switch c {
	case '(', '[', '{':
		if c == '{' && (s.prev == "}" || s.prev == ";") {
			s.ends()
		}
		s.push(c)
		s.set(string(c))
	case ')':
		if s.pop('(').control {
			s.set(")!")
			return
		}
		s.set(")")
	case ']':
		s.pop('[')
		s.set("]")
	case '}':
		s.pop('{')
		if s.top().kind == '`' {
			s.literal()
			return
		}
		s.set("}")
	case ';':
		s.ends()
		s.top().commas = 0
		s.set(";")
	case ',':
		s.ends()
		if l := s.top(); l.kind != '[' && !l.object {
			l.commas++
			s.add(l.commas)
		}
		s.set(",")
	default:
		s.operator(rest)
	}
}

func (s *scan) operator(rest string) {
	s.add(1)
	token := rest[:1]
	for _, long := range []string{"=>", "==", "!=", "<=", ">=", "++", "--", "?."} {
		if strings.HasPrefix(rest, long) && !(long == "?." && len(rest) > 2 && rest[2] >= '0' && rest[2] <= '9') {
			token = long
		}
	}
	s.at += len(token) - 1
	l := s.top()
	switch {
	case strings.HasPrefix(rest, "<!--") || strings.HasPrefix(rest, "-->"):
		s.unsure = true
	case token == "=>" || token == ":" && s.before == ":" && s.prev != "" && wordByte(s.prev[0]): // a label after a label
		s.add(nestCost)
	case token == "=" && !l.assign && (l.kind == '(' || l.kind == '[' || l.object):
		l.assign = true
		s.assigns++
	}
	s.set(token)
}
