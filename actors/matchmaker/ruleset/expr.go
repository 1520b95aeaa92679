package ruleset

import (
	"fmt"
	"slices"
	"strings"
)

// Elem is the type of the innermost values of an expression.
type Elem string

// The element types.
const (
	NumberElem Elem = "number"
	StringElem Elem = "string"
	MapElem    Elem = "map"
	PlayerElem Elem = "player"
	teamElem   Elem = "team"
)

// Type is the type of an expression: an element in Depth nested lists (flexmatch.md 6.2).
type Type struct {
	Elem    Elem
	Depth   int
	PerTeam bool // the outermost list has one entry for each team
}

// String formats the type as the specification does.
func (t Type) String() string {
	return strings.Repeat("List<", t.Depth) + string(t.Elem) + strings.Repeat(">", t.Depth)
}

// Func is a function of property expressions.
type Func string

// The functions.
const (
	Min             Func = "min"
	Max             Func = "max"
	Avg             Func = "avg"
	Median          Func = "median"
	Sum             Func = "sum"
	Count           Func = "count"
	Stddev          Func = "stddev"
	Flatten         Func = "flatten"
	SetIntersection Func = "set_intersection"
)

var functions = []Func{Min, Max, Avg, Median, Sum, Count, Stddev, Flatten, SetIntersection}

// Expr is a compiled expression. It is either the function Func of Arg, or a Path.
type Expr struct {
	Func Func
	Arg  *Expr
	Path *Path
	Type Type
}

// Member is the part of each player that a path selects.
type Member int

// The members.
const (
	Players Member = iota
	PlayerID
	AttributeOf
)

// Path selects values of the players of some teams.
type Path struct {
	Teams     []int // indexes of team instances
	All       bool  // the path begins with teams[*]
	Multi     bool  // the values are one list per team
	Member    Member
	Attribute int // index of the attribute if Member is AttributeOf
}

// syntaxError tells where and why a text is not a valid expression.
type syntaxError struct {
	at     int // byte offset
	reason string
}

// pathText is a parsed path whose teams and attributes are not resolved yet.
type pathText struct {
	teams     []string
	players   bool
	member    Member
	attribute string
}

// exprText is a parsed expression whose path is not resolved yet.
type exprText struct {
	funcs []Func // outermost first
	path  pathText
}

// parseExpr parses a text by the grammar of flexmatch.md 6.1.
func parseExpr(text string) (exprText, *syntaxError) {
	var e exprText
	rest := strings.TrimSpace(text)
	at := func() int { return strings.LastIndex(text, rest) }
	for {
		open := strings.IndexByte(rest, '(')
		if bracket := strings.IndexByte(rest, '['); open < 0 || bracket >= 0 && bracket < open {
			break
		}
		name := Func(strings.TrimSpace(rest[:open]))
		if !slices.Contains(functions, name) {
			return e, &syntaxError{at(), "There is no function " + quote(string(name)) + "."}
		}
		if e.funcs = append(e.funcs, name); len(e.funcs) > maxNesting {
			return e, &syntaxError{at(), fmt.Sprintf("More than %d functions are nested.", maxNesting)}
		}
		rest = strings.TrimSpace(rest[open+1:])
	}
	end := strings.LastIndexByte(rest, ']')
	if i := strings.Index(rest, ".players"); i >= 0 {
		end = max(end, i+len(".players")-1)
	}
	if end < 0 {
		return e, &syntaxError{at(), "A path such as teams[red].players.attributes[skill] is missing."}
	}
	closing := rest[end+1:]
	if n := strings.Count(closing, ")"); n != len(e.funcs) || strings.Trim(closing, ") \t\r\n") != "" {
		return e, &syntaxError{max(0, at()) + end + 1, fmt.Sprintf("The expression needs %d closing parentheses here, and nothing else.", len(e.funcs))}
	}
	var err *syntaxError
	e.path, err = parsePath(strings.TrimSpace(rest[:end+1]))
	if err != nil {
		err.at += max(0, at())
	}
	return e, err
}

func parsePath(text string) (path pathText, err *syntaxError) {
	rest, ok := strings.CutPrefix(text, "teams[")
	if !ok {
		rest, ok = strings.CutPrefix(text, "team[")
	}
	if !ok {
		return path, &syntaxError{0, "A path begins with teams[name]; this one with " + quote(text) + "."}
	}
	selection, rest, ok := cutName(rest)
	if !ok {
		return path, &syntaxError{0, "The names of the teams need a closing bracket."}
	}
	for _, name := range strings.Split(selection, ",") {
		if name = strings.TrimSpace(name); name == "" {
			return path, &syntaxError{0, "The name of a team is missing."}
		}
		path.teams = append(path.teams, name)
	}
	if rest == "" {
		return path, nil
	}
	if rest, ok = strings.CutPrefix(rest, ".players"); !ok {
		return path, &syntaxError{0, "After the teams, a path goes on with .players."}
	}
	path.players = true
	switch attribute, isAttribute := strings.CutPrefix(rest, ".attributes["); {
	case rest == "":
	case isAttribute:
		name, after, closed := cutName(attribute)
		if name = strings.TrimSpace(name); !closed || after != "" || name == "" || strings.Contains(name, ",") {
			return path, &syntaxError{0, "A path ends with .attributes[name]."}
		}
		path.member, path.attribute = AttributeOf, name
	case strings.EqualFold(rest, "[playerId]"):
		path.member = PlayerID
	default:
		return path, &syntaxError{0, "After .players, a path ends with .attributes[name] or [playerId]."}
	}
	return path, nil
}

func cutName(text string) (name, rest string, ok bool) {
	name, rest, ok = strings.Cut(text, "]")
	return name, rest, ok && !strings.Contains(name, "[")
}

// expression parses an expression and determines its type. It returns nil if that fails.
func (p *parser) expression(text, path string) *Expr {
	if p.failed() {
		return nil
	}
	parsed, bad := parseExpr(text)
	if bad != nil {
		p.fail(ErrExprSyntax, path, "%s (In %s, at byte %d.)", bad.reason, quote(text), bad.at+1)
		return nil
	}
	e := p.resolve(parsed.path, path)
	for i := len(parsed.funcs) - 1; i >= 0 && !p.failed(); i-- {
		t, ok := parsed.funcs[i].result(e.Type)
		if !ok {
			p.fail(ErrExprType, path, "The function %s does not take %s.", parsed.funcs[i], e.Type)
		}
		e = &Expr{Func: parsed.funcs[i], Arg: e, Type: t}
	}
	if p.failed() {
		return nil
	}
	if e.Type.Elem == teamElem {
		p.fail(ErrExprType, path, "A team by itself is no value; add .players.")
		return nil
	}
	return e
}

func (p *parser) resolve(text pathText, path string) *Expr {
	out := &Path{Member: text.member, Attribute: -1}
	for _, name := range text.teams {
		found, many := p.lookUpTeam(name)
		if len(found) == 0 {
			p.fail(ErrExprRef, path, "There is no team %s.", quote(name))
			return nil
		}
		out.All = out.All || name == "*"
		out.Multi = out.Multi || many || len(text.teams) > 1
		for _, i := range found {
			if !slices.Contains(out.Teams, i) {
				out.Teams = append(out.Teams, i)
			}
		}
	}
	t := Type{Elem: PlayerElem, Depth: 1, PerTeam: out.Multi}
	if out.Multi {
		t.Depth = 2
	}
	switch {
	case !text.players:
		t.Elem, t.Depth = teamElem, t.Depth-1
	case text.member == PlayerID:
		t.Elem = StringElem
	case text.member == AttributeOf:
		out.Attribute = p.set.Attribute(text.attribute)
		if out.Attribute < 0 {
			p.fail(ErrExprRef, path, "The player attribute %s is not declared.", quote(text.attribute))
			return nil
		}
		switch p.set.Attributes[out.Attribute].Type {
		case Number:
			t.Elem = NumberElem
		case String:
			t.Elem = StringElem
		case StringList:
			t.Elem, t.Depth = StringElem, t.Depth+1
		case StringNumberMap:
			t.Elem = MapElem
		}
	}
	return &Expr{Path: out, Type: t}
}

// lookUpTeam returns the instances of a team name. many reports whether the name stands for several
// instances.
func (p *parser) lookUpTeam(name string) (found []int, many bool) {
	if name == "*" {
		for i := range p.set.Teams {
			found = append(found, i)
		}
		return found, true
	}
	for _, d := range p.defs {
		if d.name == name {
			for i := range d.instances {
				found = append(found, d.first+i)
			}
			return found, len(d.instances) > 1
		}
	}
	if i := p.set.Team(name); i >= 0 {
		return []int{i}, false
	}
	return nil, false
}

// result returns the type of the result of function f for an argument of type t (flexmatch.md 6.3). It
// returns false if f does not accept t.
func (f Func) result(t Type) (Type, bool) {
	if t.Elem == teamElem {
		return t, false
	}
	switch f {
	case Flatten:
		if t.Depth >= 2 {
			return Type{Elem: t.Elem, Depth: t.Depth - 1}, true
		}
		return t, t.Depth == 1
	case SetIntersection:
		if t.Elem != StringElem || t.Depth < 2 {
			return t, false
		}
		return Type{Elem: StringElem, Depth: t.Depth - 1, PerTeam: t.PerTeam && t.Depth > 2}, true
	case Count:
		return Type{Elem: NumberElem, Depth: t.Depth - 1, PerTeam: t.PerTeam && t.Depth > 1}, t.Depth >= 1
	default:
		return Type{Elem: NumberElem, Depth: t.Depth - 1, PerTeam: t.PerTeam && t.Depth > 1}, t.Elem == NumberElem && t.Depth >= 1
	}
}

func (p *parser) symmetric() bool {
	ok := true
	check := func(e *Expr) {
		for ; e != nil; e = e.Arg {
			ok = ok && (e.Path == nil || e.Path.All)
		}
	}
	for _, s := range p.set.Stages {
		for _, r := range s.Rules {
			for _, m := range r.Measurements {
				check(m)
			}
			if r.Reference != nil {
				check(r.Reference.Expr)
			}
		}
	}
	return ok
}
