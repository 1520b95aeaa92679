package ruleset

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Options configure Parse.
type Options struct {
	Strict bool // unknown properties are errors instead of warnings
}

// parser parses one rule set. It records only the first failure, and skips the phases after that.
type parser struct {
	options  Options
	set      *RuleSet
	defs     []definition
	body     object
	rules    []object
	firstErr *Error
}

// definition is a team definition in the rule set.
type definition struct {
	name      string
	first     int      // index of its first instance
	instances []string // the names of its instances
}

// object is a JSON object with its path.
type object struct {
	m    map[string]any
	path string
}

func (o object) at(key string) string { return o.path + "." + key }

// Parse validates and compiles a rule set. Its error is always an *Error.
func Parse(body string, o Options) (*RuleSet, error) {
	p := &parser{options: o, set: &RuleSet{}}
	for _, phase := range []func(){
		func() { p.document(body) }, p.attributes, p.teams, p.algorithm, p.large,
		p.ruleNames, p.ruleTypes, p.ruleProperties, p.expressions, p.compounds, p.expansions, p.unknownProperties,
	} {
		if phase(); p.firstErr != nil {
			return nil, p.firstErr
		}
	}
	p.set.Symmetric = p.symmetric()
	return p.set, nil
}

func (p *parser) fail(code Code, path, format string, args ...any) {
	if p.firstErr == nil {
		p.firstErr = &Error{code, path, fmt.Sprintf(format, args...)}
	}
}

func (p *parser) failed() bool { return p.firstErr != nil }

func (p *parser) warn(path, format string, args ...any) {
	if len(p.set.Warnings) >= maxWarnings {
		return
	}
	p.set.Warnings = append(p.set.Warnings, Warning{path, fmt.Sprintf(format, args...)})
}

func (p *parser) document(body string) {
	if n := utf8.RuneCountInString(body); n == 0 || n > MaxCharacters {
		p.fail(ErrSize, "$", "A rule set has 1 to %d characters; this one has %d.", MaxCharacters, n)
		return
	}
	if !utf8.ValidString(body) {
		p.fail(ErrJSON, "$", "The text is not valid UTF-8.")
		return
	}
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var document any
	if err := d.Decode(&document); err != nil {
		p.fail(ErrJSON, "$", "The text is not JSON: %s.", jsonProblem(body, err))
		return
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		p.fail(ErrJSON, "$", "There is text after the end of the object, at character %d.", d.InputOffset()+1)
		return
	}
	m, ok := document.(map[string]any)
	if !ok {
		p.fail(ErrJSON, "$", "A rule set is a JSON object; this is %s.", kindOf(document))
		return
	}
	p.body = object{m, "$"}
	if v := m["ruleLanguageVersion"]; v != "1.0" {
		p.fail(ErrVersion, "$.ruleLanguageVersion", "The version of the rule language must be \"1.0\".")
		return
	}
	p.set.Name, _ = p.optionalText(p.body, "name", ErrJSON)
}

func jsonProblem(body string, err error) string {
	if syntax := new(json.SyntaxError); errors.As(err, &syntax) {
		line := 1 + strings.Count(body[:min(int(syntax.Offset), len(body))], "\n")
		return fmt.Sprintf("%v, at byte %d in line %d", err, syntax.Offset, line)
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early; a brace or bracket is missing"
	}
	return err.Error()
}

func (p *parser) attributes() {
	seen := map[string]bool{}
	all := p.objects(p.body, "playerAttributes", ErrAttrName)
	if len(all) > MaxAttributes {
		p.fail(ErrAttrName, "$.playerAttributes", "A rule set declares at most %d player attributes; this one has %d.", MaxAttributes, len(all))
		return
	}
	for _, o := range all {
		name, ok := o.m["name"].(string)
		switch {
		case !ok || name == "":
			p.fail(ErrAttrName, o.at("name"), "A player attribute needs a name.")
		case seen[name]:
			p.fail(ErrAttrName, o.at("name"), "There are two player attributes with the name %s.", quote(name))
		}
		seen[name] = true
		a := Attribute{Name: name}
		text, _ := o.m["type"].(string)
		switch a.Type = AttributeType(text); a.Type {
		case String, Number, StringList, StringNumberMap:
		default:
			p.fail(ErrAttrType, o.at("type"), "The type of a player attribute is string, number, string_list or string_number_map.")
		}
		if v := o.m["default"]; v != nil && !p.failed() {
			if a.Default = value(a.Type, v); a.Default == nil {
				p.fail(ErrAttrDefault, o.at("default"), "The default of %s must be a %s; it is %s.", quote(name), a.Type, kindOf(v))
			}
		}
		if p.failed() {
			return
		}
		p.set.Attributes = append(p.set.Attributes, a)
	}
}

// value reads a JSON value of type t. It returns nil if the value has another type.
func value(t AttributeType, v any) *Value {
	out := &Value{Type: t}
	switch t {
	case String:
		s, ok := v.(string)
		if !ok {
			return nil
		}
		out.S = s
	case Number:
		n, ok := number(v)
		if !ok {
			return nil
		}
		out.N = n
	case StringList:
		list, ok := texts(v)
		if !ok {
			return nil
		}
		for _, s := range list {
			if !slices.Contains(out.SL, s) {
				out.SL = append(out.SL, s)
			}
		}
	case StringNumberMap:
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		out.SDM = make(map[string]float64, len(m))
		for key, v := range m {
			n, ok := number(v)
			if !ok {
				return nil
			}
			out.SDM[key] = n
		}
	}
	return out
}

func (p *parser) teams() {
	all := p.objects(p.body, "teams", ErrTeamsMissing)
	if len(all) == 0 {
		p.fail(ErrTeamsMissing, "$.teams", "A rule set needs at least one team.")
		return
	}
	// Names are checked before sizes. The names of instances depend on the quantities.
	quantities := make([]int, len(all))
	for i, o := range all {
		if v := o.m["quantity"]; v == nil {
			quantities[i] = 1
		} else if quantities[i] = integer(v); quantities[i] < 1 {
			quantities[i] = 0
		}
	}
	seen := map[string]string{}
	for i, o := range all {
		name, _ := o.m["name"].(string)
		name = strings.TrimSpace(name)
		if name == "" || utf8.RuneCountInString(name) > maxTeamName || strings.ContainsAny(name, "[],()") {
			p.fail(ErrTeamName, o.at("name"), "The name of a team has 1 to %d characters, without brackets, parentheses and commas.", maxTeamName)
			return
		}
		d := definition{name: name, instances: []string{name}}
		names := d.instances
		if q := min(quantities[i], MaxPlayers+1); q > 1 { // one above the limit is enough to make the check fail
			d.instances = make([]string, q)
			for i := range d.instances {
				d.instances[i] = name + "_" + strconv.Itoa(i+1)
			}
			names = append(slices.Clip(d.instances), name)
		}
		for _, n := range names {
			if other, ok := seen[n]; ok {
				p.fail(ErrTeamName, o.at("name"), "The name %s is also a name of %s.", quote(n), other)
				return
			}
			seen[n] = "the team at " + o.path
		}
		p.defs = append(p.defs, d)
	}
	for i, o := range all {
		low, high, q := integer(o.m["minPlayers"]), integer(o.m["maxPlayers"]), quantities[i]
		switch {
		case low < 0:
			p.fail(ErrTeamSize, o.at("minPlayers"), "minPlayers must be an integer, 0 or more.")
		case high < 1:
			p.fail(ErrTeamSize, o.at("maxPlayers"), "maxPlayers must be an integer, 1 or more.")
		case low > high:
			p.fail(ErrTeamSize, o.path, "minPlayers, %d, is more than maxPlayers, %d.", low, high)
		case q < 1:
			p.fail(ErrTeamSize, o.at("quantity"), "quantity must be an integer, 1 or more.")
		}
		if p.failed() {
			return
		}
		d := &p.defs[i]
		if d.first = len(p.set.Teams); d.first > MaxPlayers {
			continue // too many players; the phase large reports it
		}
		for _, n := range d.instances {
			p.set.Teams = append(p.set.Teams, Team{n, low, min(high, MaxPlayers+1)})
		}
	}
}

func (p *parser) algorithm() {
	a := Algorithm{BalancedAttribute: -1, Batching: Random, Backfill: BackfillNormal}
	var o object
	if v := p.body.m["algorithm"]; v != nil {
		m, ok := v.(map[string]any)
		if !ok {
			p.fail(ErrAlgorithm, "$.algorithm", "algorithm must be an object; it is %s.", kindOf(v))
			return
		}
		o = object{m, "$.algorithm"}
	}
	a.Strategy = p.oneOf(o, "strategy", ExhaustiveSearch, ExhaustiveSearch, Balanced)
	balanced := a.Strategy == Balanced
	if balanced {
		a.Batching, a.Backfill = LargestPopulation, BackfillHigh
	}
	a.Batching = p.oneOf(o, "batchingPreference", a.Batching, Random, Sorted, LargestPopulation, FastestRegion)
	if balanced != (a.Batching == LargestPopulation || a.Batching == FastestRegion) {
		p.fail(ErrAlgorithm, o.at("batchingPreference"), "The strategy %s does not have the batchingPreference %s.", a.Strategy, a.Batching)
	}
	a.ExpansionAge = p.oneOf(o, "expansionAgeSelection", Newest, Newest, Oldest)
	a.Backfill = p.oneOf(o, "backfillPriority", a.Backfill, BackfillNormal, BackfillHigh, BackfillLow)
	if s, ok := p.optionalText(o, "balancedAttribute", ErrAlgorithm); ok {
		a.BalancedAttribute = p.set.Attribute(s)
		switch {
		case !balanced:
			p.fail(ErrAlgorithm, o.at("balancedAttribute"), "Only the strategy balanced has a balancedAttribute.")
		case a.BalancedAttribute < 0 || p.set.Attributes[a.BalancedAttribute].Type != Number:
			p.fail(ErrAlgorithm, o.at("balancedAttribute"), "balancedAttribute must name a player attribute of the type number; %s is none.", quote(s))
		}
	} else if balanced {
		p.fail(ErrAlgorithm, "$.algorithm.balancedAttribute", "The strategy balanced needs a balancedAttribute.")
	}
	p.sortBy(o, &a)
	p.set.Algorithm = a
}

func (p *parser) sortBy(o object, a *Algorithm) {
	v := o.m["sortByAttributes"]
	names, ok := texts(v)
	switch {
	case v == nil && a.Batching != Sorted:
		return
	case a.Batching != Sorted:
		p.fail(ErrAlgorithm, o.at("sortByAttributes"), "Only the batchingPreference sorted has sortByAttributes.")
	case !ok || len(names) == 0:
		p.fail(ErrAlgorithm, "$.algorithm.sortByAttributes", "The batchingPreference sorted needs sortByAttributes, a list of player attributes.")
	}
	for i, name := range names {
		index := p.set.Attribute(name)
		if index < 0 {
			p.fail(ErrAlgorithm, fmt.Sprintf("%s[%d]", o.at("sortByAttributes"), i), "The player attribute %s is not declared.", quote(name))
		}
		a.SortBy = append(a.SortBy, index)
	}
}

func (p *parser) large() {
	total := totalPlayers(p.set.Teams)
	switch {
	case total > MaxPlayers:
		p.fail(ErrLarge, "$.teams", "A match has %d players at most; these teams have more.", MaxPlayers)
		return
	case total <= MaxSmallPlayers:
		return
	case p.set.Algorithm.Strategy != Balanced:
		p.fail(ErrLarge, "$.algorithm.strategy", "Matches of more than %d players need the strategy balanced; these teams have %d.", MaxSmallPlayers, total)
		return
	}
	for _, o := range p.objects(p.body, "rules", ErrRuleType) {
		text, _ := o.m["type"].(string)
		switch RuleType(text) {
		case Comparison, Distance, Collection, DistanceSort, AbsoluteSort, Compound:
			p.fail(ErrLarge, o.at("type"), "Large matches have only rules of the types latency and batchDistance; this one is %s.", text)
		case Latency:
			if o.m["maxDistance"] != nil {
				p.fail(ErrLarge, o.at("maxDistance"), "Latency rules of large matches have maxLatency only.")
			}
		}
	}
}

func (p *parser) objects(o object, key string, code Code) []object {
	v := o.m[key]
	if v == nil {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		p.fail(code, o.at(key), "%s must be an array; it is %s.", key, kindOf(v))
		return nil
	}
	all := make([]object, 0, len(list))
	for i, v := range list {
		path := fmt.Sprintf("%s[%d]", o.at(key), i)
		m, ok := v.(map[string]any)
		if !ok {
			p.fail(code, path, "This must be an object; it is %s.", kindOf(v))
			return nil
		}
		all = append(all, object{m, path})
	}
	return all
}

func (p *parser) optionalText(o object, key string, code Code) (string, bool) {
	v := o.m[key]
	if v == nil {
		return "", false
	}
	s, ok := v.(string)
	if !ok {
		p.fail(code, o.at(key), "%s must be a string; it is %s.", key, kindOf(v))
	}
	return s, ok
}

func (p *parser) oneOf(o object, key, otherwise string, allowed ...string) string {
	s, ok := p.optionalText(o, key, ErrAlgorithm)
	if ok && !slices.Contains(allowed, s) {
		p.fail(ErrAlgorithm, o.at(key), "%s is %s.", key, alternatives(allowed))
	}
	return cmp.Or(s, otherwise)
}

func alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// number reads a JSON number, or a string that contains a number.
func number(v any) (float64, bool) {
	text := ""
	switch v := v.(type) {
	case json.Number:
		text = v.String()
	case string:
		text = strings.TrimSpace(v)
		if strings.Trim(text, "+-.0123456789eE") != "" { // ParseFloat also accepts Inf, NaN, 0x10 and 1_000
			return 0, false
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	return n, err == nil && !math.IsInf(n, 0)
}

// integer reads a non-negative integer. It returns -1 for any other value.
func integer(v any) int {
	n, ok := number(v)
	if !ok || n != math.Trunc(n) || n < 0 || n > 1e9 {
		return -1
	}
	return int(n)
}

func texts(v any) ([]string, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	all := make([]string, 0, len(list))
	for _, v := range list {
		s, ok := v.(string)
		if !ok {
			return nil, false
		}
		all = append(all, s)
	}
	return all, true
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	}
	return "an object"
}

func quote(s string) string {
	if r := []rune(s); len(r) > maxQuotedSnippet {
		s = string(r[:maxQuotedSnippet]) + "..."
	}
	return strconv.Quote(s)
}
