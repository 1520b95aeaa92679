package compile

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"troupe/messages/lazy"
)

// Both parsers and both compilers recurse over brackets, chains of operators, and statements without braces.
// If the Go stack overflows, the process ends, so source is limited before they parse it. One nesting level
// takes up to 10 KiB of stack. Two costs grow faster than the source: esbuild's time grows with the cube of
// the depth of nested functions (480 levels: 3 s), and the engine's time doubles with each default value that
// is nested inside the parentheses of another one.
const (
	// depthMax is the maximum total cost of the statements that are open at one position: 1 per operator or prefix, nestCost
	// per nesting level
	depthMax  = 6_000
	nestCost  = 20     // cost of a bracket, template, arrow function, statement without braces, or label
	assignMax = 10     // maximum nesting of assignments inside parentheses
	jsonMax   = 10_000 // maximum nesting of brackets in JSON
	// unsureMax is the maximum number of operators, prefixes and brackets in a file in which a comment or a regular expression
	// is ambiguous
	unsureMax = 5_000
)

// Tokens, and the text between tokens. An unterminated string is left for the parser to report.
var (
	blank    = lazy.Regexp(`^(?s:[\s\v\x{a0}\x{feff}\x{2028}\x{2029}]|//[^\n\r\x{2028}\x{2029}]*|/\*.*?(?:\*/|\z))+`)
	quoted   = lazy.Regexp(`^(?s:"(?:[^"\\\n\r]|\\(?:\r\n|.))*"?|'(?:[^'\\\n\r]|\\(?:\r\n|.))*'?)`)
	template = lazy.Regexp("^(?s:[^`\\\\]|\\\\.)*?(?:`|\\$\\{|\\z)")
	word     = lazy.Regexp(`^[#@]?(?:[\w$]|\\u\{[^}]{0,8}\}|\\|[^\x00-\x7f\x{a0}\x{feff}\x{2028}\x{2029}])*`)
	number   = lazy.Regexp(`^[\w$.]+`)
	pattern  = lazy.Regexp(`^/(?:[^/[\\\n\r\x{2028}\x{2029}]|\\[^\n\r]|\[(?:[^]\\\n\r\x{2028}\x{2029}]|\\[^\n\r])*\])+/[\w$]*`)
)

// Words, by their effect on the statement that contains them.
var (
	prefixes = Words("new await typeof void delete yield return throw case extends do async default if for while with try switch")
	infixes  = Words("in of instanceof as is satisfies else catch finally")
	controls = Words("if for while with")
	// After these, a / may begin a regular expression or be a division
	doubtful = Words("} ++ -- of yield await async as is satisfies default")
)

// Words returns the set of the space-separated words in names.
func Words(names string) map[string]bool {
	m := make(map[string]bool)
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

// level is an open bracket and the statement that is being scanned inside it.
type level struct {
	kind    byte // one of ( [ { and `, or 0 for the whole file
	object  bool // the bracket is a { that may begin an object literal or pattern
	control bool // the bracket is the ( of an if, for, while or with
	assign  bool
	cost    int
	before  int // cost of the previous statement, which an else continues
	commas  int
}

// scan reads source token by token. Where a / could begin a regular expression or be a division, scan adds
// the cost of both readings. If the readings could disagree about where a string or comment begins, it sets
// unsure.
type scan struct {
	text   string
	at     int
	levels []level

	cost, assigns int // totals over all levels
	count         int
	unsure        bool

	prev   string // last token: the name itself for names, "0" for other operands
	before string // the token before prev
}

// check refuses source whose nesting is too deep for the parsers.
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

// CheckJSON refuses JSON so deeply nested that the engine's recursive parser would overflow the stack, which
// ends the process. It returns the number of arrays and objects in text. name is the file name for the error.
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

// take consumes a match of token at the current position, if there is one, and returns it.
func (s *scan) take(token *regexp.Regexp) string {
	t := s.text[s.at:][:max(0, end(token, s.text[s.at:]))]
	s.at += len(t)
	return t
}

// end returns the length of the match of token at the start of text, or -1 if it does not match.
func end(token *regexp.Regexp, text string) int {
	if at := token.FindStringIndex(text); at != nil {
		return at[1]
	}
	return -1
}

// next scans one token. It returns false at the end of the source.
func (s *scan) next() bool {
	s.skip(spaceByte)
	if s.at < len(s.text) && (s.text[s.at] == '/' || s.text[s.at] >= 0x80) {
		s.take(blank())
	}
	if s.at >= len(s.text) {
		return false
	}
	switch c := s.text[s.at]; {
	case c == '"' || c == '\'':
		s.operand("0")
		s.take(quoted())
	case c == '`':
		s.at++
		s.add(1)
		s.push('`')
		s.literal()
	case c >= '0' && c <= '9' || c == '.' && s.at+1 < len(s.text) && s.text[s.at+1] >= '0' && s.text[s.at+1] <= '9':
		s.operand("0")
		s.take(number())
	case wordByte(c) || c == '#' || c == '@':
		s.name()
	case c == '/':
		s.slash()
	default:
		s.punctuation(c)
	}
	return true
}

// skip consumes bytes for which kind is true. It takes a tenth of the time of a regular expression.
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

// ends ends the current statement, comma operand or element, and drops its cost.
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

// pop closes the innermost bracket and returns its level. A bracket of another kind is left for the parser to
// report. The closed bracket still costs 1 in the surrounding statement: calls, index expressions and blocks
// can form long chains.
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

// valued reports whether the last token may end a value.
func (s *scan) valued() bool {
	return s.prev == "0" || s.prev == ")" || s.prev == "]" || s.prev == "}" || s.prev != "" && wordByte(s.prev[0]) && !prefixes[s.prev] && !infixes[s.prev]
}

// operand records an operand. An operand directly after another one begins a new statement.
func (s *scan) operand(token string) {
	if s.valued() || s.prev == "catch" || s.prev == "finally" {
		s.ends()
		s.top().commas = 0
	}
	s.set(token)
}

// name scans a name or a keyword.
func (s *scan) name() {
	if s.text[s.at] == '@' {
		s.add(1)
		s.set("@")
	}
	from := s.at
	if s.skip(plainByte); s.at == from || s.at < len(s.text) && wordByte(s.text[s.at]) {
		s.take(word())
	}
	switch word := strings.TrimLeft(s.text[from:s.at], "#@"); {
	case s.prev == "." || s.prev == "?.":
		s.set("0")
	case infixes[word]:
		if l := s.top(); word == "else" && (s.prev == ";" || s.prev == "}") {
			// An else continues the previous statement, whose cost was already dropped.
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
		length = end(pattern(), s.text[s.at:])
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
		s.add(length) // as a division, the text may contain up to this many operators
		s.set("}")    // the next / is ambiguous, too
	}
	s.at += length
}

// literal scans the text of a template up to its end or the next substitution.
func (s *scan) literal() {
	if strings.HasSuffix(s.take(template()), "{") {
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
