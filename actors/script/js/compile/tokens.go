package compile

import "strings"

// Names by what they do to the statement they are in.
var (
	prefixes   = set("new await typeof void delete yield return throw case extends else do async default")
	operators  = set("in of instanceof as is satisfies")
	statements = set("if for while with do else try switch")
	controls   = set("if for while with")
)

func set(names string) map[string]bool {
	m := make(map[string]bool)
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}

// set notes a token.
func (s *scan) set(token string) {
	s.before, s.prev, s.newline = s.prev, token, false
}

// link counts one operator or prefix of the current statement.
func (s *scan) link() {
	s.top().chain++
	s.chain++
	s.count++
}

// nest counts one construct that the next token is inside of, without a bracket.
func (s *scan) nest() {
	s.top().nested++
	s.nested++
}

// ends begins another statement, operand of a comma or element.
func (s *scan) ends() {
	l := s.top()
	s.chain -= l.chain
	s.nested -= l.nested
	if l.assign {
		s.assigns--
	}
	l.before, l.chain, l.nested, l.assign = l.chain, 0, 0, false
}

func (s *scan) push(kind byte) {
	l := level{kind: kind}
	switch kind {
	case '(':
		l.control = controls[s.prev] && s.before != "."
	case '{':
		switch s.prev {
		case "", ";", ")", ")!", "}", "{", "=>", "else", "do", "try", "finally":
		default:
			l.object = true
		}
	}
	s.levels = append(s.levels, l)
	s.count++
}

// pop closes a bracket; one that does not fit is an error of the parser's.
func (s *scan) pop(kind byte) (closed level) {
	if len(s.levels) == 1 || s.top().kind != kind {
		return level{}
	}
	closed = *s.top()
	s.ends()
	s.levels = s.levels[:len(s.levels)-1]
	// A call, an index or a block may be one of many in a row.
	s.link()
	return closed
}

// operand notes an operand. After another one it begins a statement, as there is
// no operator between.
func (s *scan) operand(token string) {
	switch {
	case s.prev == "0" || s.prev == ")" || s.prev == "]" || s.prev == "}":
		s.ends()
		s.top().commas = 0
	case wordByte(firstByte(s.prev)) && !prefixes[s.prev] && !operators[s.prev] && !statements[s.prev]:
		s.ends()
		s.top().commas = 0
	}
	s.set(token)
}

func firstByte(s string) byte {
	if s == "" {
		return 0
	}
	return s[0]
}

// name takes a name or a keyword.
func (s *scan) name() {
	if c := s.text[s.at]; c == '#' || c == '@' {
		s.at++
		if c == '@' {
			s.link()
			s.set("@")
		}
	}
	word := s.word(false)
	switch {
	case s.prev == "." || s.prev == "?.":
		s.set("0")
	case word == "else":
		l := s.top()
		if s.prev == ";" || s.prev == "}" {
			// It goes on with the statement that seemed to be over.
			s.chain += l.before
			l.chain += l.before
			l.before = 0
		}
		s.link()
		s.set(word)
	case operators[word], word == "catch", word == "finally":
		s.link()
		s.set(word)
	default:
		if s.operand(word); controls[word] && s.before != "else" || word == "do" {
			s.nest()
		}
		if prefixes[word] || statements[word] || word == "class" || word == "function" {
			s.link()
		}
	}
}

// slash takes a division or a regular expression.
func (s *scan) slash() {
	end, regexp := 0, false
	switch {
	case s.prev == "}" || s.prev == "++" || s.prev == "--" || s.prev == "of" || s.prev == "yield" || s.prev == "await" || s.prev == "async" || s.prev == "as" || s.prev == "is" || s.prev == "satisfies" || s.prev == "default":
		if end = s.regexp(); end < 0 {
			break
		}
		body := s.text[s.at+1 : end]
		if strings.ContainsAny(body, "'\"`") || strings.Contains(body, "/*") || strings.Contains(s.text[end-1:min(end+1, len(s.text))], "//") {
			s.unsure = true
			regexp = true
			break
		}
		for range strings.Count(body, "(") + strings.Count(body, "[") + strings.Count(body, "{") {
			s.link()
		}
		regexp = true
	case s.prev == ")!":
		regexp = true
	case s.prev == "0" || s.prev == ")" || s.prev == "]":
	case wordByte(firstByte(s.prev)):
		regexp = prefixes[s.prev] || operators[s.prev] || statements[s.prev]
	default:
		regexp = true
	}
	if regexp && end == 0 {
		end = s.regexp()
	}
	if !regexp || end < 0 {
		s.at++
		s.link()
		s.set("/")
		return
	}
	s.operand("0")
	s.at = end
	s.word(false)
}

// regexp returns where the regular expression at the current place would end, or
// -1 if there can be none.
func (s *scan) regexp() int {
	class := false
	for i := s.at + 1; i < len(s.text); i++ {
		switch s.text[i] {
		case '\n', '\r':
			return -1
		case 0xe2:
			if strings.HasPrefix(s.text[i:], "\u2028") || strings.HasPrefix(s.text[i:], "\u2029") {
				return -1
			}
		case '\\':
			if i+1 < len(s.text) && s.text[i+1] != '\n' && s.text[i+1] != '\r' {
				i++
			}
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				return i + 1
			}
		}
	}
	return -1
}

// punctuation takes what is left.
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
			s.template()
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
		}
		s.set(",")
	default:
		s.operator(rest)
	}
}

// operator takes an operator, one of several characters as one.
func (s *scan) operator(rest string) {
	s.link()
	switch {
	case strings.HasPrefix(rest, "<!--") || strings.HasPrefix(rest, "-->"):
		s.unsure = true
		s.set("<")
	case strings.HasPrefix(rest, "=>"):
		s.at++
		s.nest()
		s.set("=>")
	case strings.HasPrefix(rest, "==") || strings.HasPrefix(rest, "!=") || strings.HasPrefix(rest, "<=") || strings.HasPrefix(rest, ">="):
		s.at++
		s.set("==")
	case strings.HasPrefix(rest, "++") || strings.HasPrefix(rest, "--"):
		s.at++
		s.set(rest[:2])
	case strings.HasPrefix(rest, "?.") && !(len(rest) > 2 && rest[2] >= '0' && rest[2] <= '9'):
		s.at++
		s.set("?.")
	case rest[0] == '=':
		if l := s.top(); !l.assign && (l.kind == '(' || l.kind == '[' || l.object) {
			l.assign = true
			s.assigns++
		}
		s.set("=")
	default:
		if rest[0] == ':' && s.before == ":" && wordByte(firstByte(s.prev)) {
			s.nest() // a label after a label
		}
		s.set(rest[:1])
	}
}
