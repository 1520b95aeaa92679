package ruleset

import (
	"fmt"
	"strings"
)

func (p *parser) compounds() {
	for i, o := range p.rules {
		r := p.set.Rules[i]
		if r.Type != Compound {
			continue
		}
		text, _ := o.m["statement"].(string)
		s := statementParser{p: p, before: i, rest: text}
		statement, problem := s.parse(0)
		if problem == "" {
			if s.rest = strings.TrimSpace(s.rest); s.rest != "" {
				problem = "There is text after the end of the statement: " + quote(s.rest) + "."
			} else if statement.Op == "" {
				problem = "A statement begins with and, or, xor or not, and a parenthesis."
			}
		}
		if problem != "" {
			p.fail(ErrCompound, o.at("statement"), "%s", problem)
			return
		}
		r.Statement = statement
	}
}

// statementParser parses a statement by the grammar of flexmatch.md 7.7.
type statementParser struct {
	p      *parser
	before int // a statement may only name rules with an index below this
	rest   string
}

func (s *statementParser) parse(depth int) (*Statement, string) {
	if depth > maxNesting {
		return nil, fmt.Sprintf("More than %d operators are nested.", maxNesting)
	}
	end := strings.IndexAny(s.rest, "(),")
	if end < 0 {
		end = len(s.rest)
	}
	word := strings.TrimSpace(s.rest[:end])
	s.rest = s.rest[end:]
	if !strings.HasPrefix(s.rest, "(") {
		return s.member(word)
	}
	if word != "and" && word != "or" && word != "xor" && word != "not" {
		return nil, "There is no operator " + quote(word) + "; and, or, xor and not are."
	}
	out := &Statement{Op: word}
	for {
		s.rest = s.rest[1:] // skips the parenthesis or comma
		arg, problem := s.parse(depth + 1)
		if problem != "" {
			return nil, problem
		}
		out.Args = append(out.Args, arg)
		s.rest = strings.TrimLeft(s.rest, " \t\r\n")
		if strings.HasPrefix(s.rest, ",") {
			continue
		}
		if !strings.HasPrefix(s.rest, ")") {
			return nil, "A closing parenthesis is missing."
		}
		s.rest = s.rest[1:]
		break
	}
	switch n := len(out.Args); {
	case word == "not" && n != 1:
		return nil, fmt.Sprintf("not has one argument; here it has %d.", n)
	case word == "xor" && n != 2:
		return nil, fmt.Sprintf("xor has two arguments; here it has %d.", n)
	case word != "not" && n < 2:
		return nil, word + " has two arguments or more; here it has one."
	}
	return out, ""
}

// member parses the name of a rule in a statement.
func (s *statementParser) member(name string) (*Statement, string) {
	if name == "" {
		return nil, "The name of a rule is missing."
	}
	for i, r := range s.p.set.Rules {
		if r.Name != name {
			continue
		}
		switch {
		case i >= s.before:
			return nil, "The rule " + quote(name) + " must be defined before the compound rule that names it."
		case r.Type == BatchDistance || r.Type.IsSort():
			return nil, fmt.Sprintf("The rule %s is of the type %s, which compound rules cannot name.", quote(name), r.Type)
		}
		r.Member = true
		return &Statement{Rule: i}, ""
	}
	return nil, "There is no rule " + quote(name) + "."
}
