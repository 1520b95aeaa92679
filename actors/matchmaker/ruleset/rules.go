package ruleset

import (
	"fmt"
	"slices"
	"strings"
)

// properties lists the allowed properties of each kind of object.
var properties = map[string][]string{
	"":                    {"name", "ruleLanguageVersion", "playerAttributes", "algorithm", "teams", "rules", "expansions"},
	"playerAttributes":    {"name", "type", "default"},
	"teams":               {"name", "minPlayers", "maxPlayers", "quantity"},
	"algorithm":           {"strategy", "batchingPreference", "balancedAttribute", "sortByAttributes", "expansionAgeSelection", "backfillPriority"},
	"expansions":          {"target", "steps"},
	"steps":               {"waitTimeSeconds", "value"},
	string(Comparison):    {"measurements", "operation", "referenceValue", "partyAggregation"},
	string(Distance):      {"measurements", "referenceValue", "minDistance", "maxDistance", "partyAggregation"},
	string(Collection):    {"measurements", "operation", "referenceValue", "minCount", "maxCount", "partyAggregation"},
	string(Latency):       {"maxLatency", "maxDistance", "distanceReference", "partyAggregation"},
	string(BatchDistance): {"batchAttribute", "maxDistance", "partyAggregation"},
	string(DistanceSort):  {"sortDirection", "sortAttribute", "mapKey", "partyAggregation"},
	string(AbsoluteSort):  {"sortDirection", "sortAttribute", "mapKey", "partyAggregation"},
	string(Compound):      {"statement"},
}

var (
	comparisonOps = []string{Less, LessEqual, Equal, NotEqual, Greater, GreaterEqual}
	collectionOps = []string{Intersect, Contains, ReferenceCount}
	numberParties = []string{string(Average), string(Minimum), string(Maximum)}
	listParties   = []string{string(Union), string(Intersection)}
)

func (p *parser) ruleNames() {
	p.rules = p.objects(p.body, "rules", ErrRuleName)
	seen := map[string]string{}
	for i, o := range p.rules {
		name, _ := o.m["name"].(string)
		name = strings.TrimSpace(name)
		if name == "" {
			p.fail(ErrRuleName, o.at("name"), "A rule needs a name.")
		} else if other, ok := seen[name]; ok {
			p.fail(ErrRuleName, o.at("name"), "The rule at %s has the name %s, too.", other, quote(name))
		}
		seen[name] = o.path
		p.set.Rules = append(p.set.Rules, &Rule{Name: name, Index: i, Attribute: -1})
	}
}

func (p *parser) ruleTypes() {
	for i, o := range p.rules {
		text, _ := o.m["type"].(string)
		t := RuleType(text)
		switch t {
		case Comparison, Distance, Collection, Latency, BatchDistance, DistanceSort, AbsoluteSort, Compound:
			p.set.Rules[i].Type = t
		default:
			p.fail(ErrRuleType, o.at("type"), "The type of a rule is comparison, distance, collection, latency, batchDistance, distanceSort, absoluteSort or compound.")
		}
	}
}

// ruleProperties reads all properties except expressions and statements. It checks that required properties
// exist.
func (p *parser) ruleProperties() {
	for i, o := range p.rules {
		r := p.set.Rules[i]
		p.numbers(o, r)
		switch r.Type {
		case Comparison:
			r.Operation = p.ruleWord(o, "operation", comparisonOps, true)
			p.measured(o)
			if o.m["referenceValue"] == nil && r.Operation != Equal && r.Operation != NotEqual {
				p.fail(ErrRuleProperty, o.at("referenceValue"), "The operation %s needs a referenceValue.", r.Operation)
			}
		case Distance:
			p.measured(o)
			if o.m["referenceValue"] == nil {
				p.fail(ErrRuleProperty, o.at("referenceValue"), "A distance rule needs a referenceValue.")
			}
			if r.MinDistance == nil && r.MaxDistance == nil {
				p.fail(ErrRuleProperty, o.path, "A distance rule needs minDistance, maxDistance, or both.")
			}
		case Collection:
			r.Operation = p.ruleWord(o, "operation", collectionOps, true)
			p.measured(o)
			p.collectionReference(o, r)
			if r.MinCount == nil && r.MaxCount == nil {
				p.fail(ErrRuleProperty, o.path, "A collection rule needs minCount, maxCount, or both.")
			}
		case Latency:
			p.latencyProperties(o, r)
		case BatchDistance:
			p.batchProperties(o, r)
		case DistanceSort, AbsoluteSort:
			p.sortProperties(o, r)
		case Compound:
			if _, ok := o.m["statement"].(string); !ok {
				p.fail(ErrRuleProperty, o.at("statement"), "A compound rule needs a statement, a string.")
			}
		}
		p.party(o, r)
		if p.failed() {
			return
		}
	}
}

func (p *parser) numbers(o object, r *Rule) {
	for _, key := range []string{"minDistance", "maxDistance", "minCount", "maxCount", "maxLatency"} {
		v := o.m[key]
		if v == nil || !slices.Contains(properties[string(r.Type)], key) {
			continue
		}
		n, ok := number(v)
		if !ok || n < 0 {
			p.fail(ErrRuleProperty, o.at(key), "%s must be a number, 0 or more.", key)
			continue
		}
		*r.number(key) = &n
	}
}

func (p *parser) ruleWord(o object, key string, allowed []string, required bool) string {
	v := o.m[key]
	if v == nil && !required {
		return ""
	}
	s, ok := v.(string)
	if !ok || !slices.Contains(allowed, s) {
		p.fail(ErrRuleProperty, o.at(key), "%s of this rule must be %s.", key, alternatives(allowed))
	}
	return s
}

func (p *parser) measured(o object) {
	_, single := o.m["measurements"].(string)
	if list, _ := texts(o.m["measurements"]); single || len(list) > 0 {
		return
	}
	p.fail(ErrRuleProperty, o.at("measurements"), "The rule needs measurements: an expression, or a list of expressions.")
}

func (p *parser) collectionReference(o object, r *Rule) {
	v := o.m["referenceValue"]
	_, text := v.(string)
	_, list := texts(v)
	switch {
	case r.Operation == Contains && !text:
		p.fail(ErrRuleProperty, o.at("referenceValue"), "The operation contains needs a referenceValue, a string.")
	case r.Operation == ReferenceCount && !text && !list:
		p.fail(ErrRuleProperty, o.at("referenceValue"), "The operation reference_intersection_count needs a referenceValue: a list of strings, or an expression.")
	case r.Operation == Intersect && v != nil:
		p.warn(o.at("referenceValue"), "The operation intersection has no referenceValue; it is ignored.")
	}
}

func (p *parser) latencyProperties(o object, r *Rule) {
	r.DistanceReference = Aggregation(p.ruleWord(o, "distanceReference", []string{string(Minimum), string(Average)}, false))
	switch {
	case r.MaxLatency == nil && r.MaxDistance == nil:
		p.fail(ErrRuleProperty, o.path, "A latency rule needs maxLatency or maxDistance.")
	case r.MaxDistance != nil && r.DistanceReference == "":
		p.fail(ErrRuleProperty, o.at("distanceReference"), "A latency rule with maxDistance needs distanceReference: min or avg.")
	case r.MaxDistance == nil && r.DistanceReference != "":
		p.fail(ErrRuleProperty, o.at("distanceReference"), "distanceReference needs maxDistance.")
	}
}

func (p *parser) batchProperties(o object, r *Rule) {
	p.declared(o, "batchAttribute", r, String, Number)
	if p.failed() {
		return
	}
	isNumber := p.set.Attributes[r.Attribute].Type == Number
	switch {
	case isNumber && r.MaxDistance == nil:
		p.fail(ErrRuleProperty, o.at("maxDistance"), "The batchDistance of a number needs maxDistance.")
	case !isNumber && r.MaxDistance != nil:
		p.fail(ErrRuleProperty, o.at("maxDistance"), "The batchDistance of a string has no maxDistance: all players have the same value.")
	}
}

func (p *parser) sortProperties(o object, r *Rule) {
	r.Descending = p.ruleWord(o, "sortDirection", []string{"ascending", "descending"}, true) == "descending"
	p.declared(o, "sortAttribute", r, String, Number, StringNumberMap)
	if p.failed() {
		return
	}
	isMap := p.set.Attributes[r.Attribute].Type == StringNumberMap
	r.MapKey = p.ruleWord(o, "mapKey", []string{"minValue", "maxValue"}, isMap)
	if r.MapKey != "" && !isMap {
		p.fail(ErrRuleProperty, o.at("mapKey"), "Only a sortAttribute of the type string_number_map has a mapKey.")
	}
}

// declared reads a property that must be the name of a declared player attribute of one of the allowed types.
func (p *parser) declared(o object, key string, r *Rule, allowed ...AttributeType) {
	name, ok := o.m[key].(string)
	if !ok {
		p.fail(ErrRuleProperty, o.at(key), "The rule needs %s, the name of a player attribute.", key)
		return
	}
	r.Attribute = p.set.Attribute(name)
	switch {
	case r.Attribute < 0:
		p.fail(ErrRuleProperty, o.at(key), "The player attribute %s is not declared.", quote(name))
	case !slices.Contains(allowed, p.set.Attributes[r.Attribute].Type):
		p.fail(ErrRuleProperty, o.at(key), "The rule cannot use the player attribute %s, a %s.", quote(name), p.set.Attributes[r.Attribute].Type)
	}
}

func (p *parser) party(o object, r *Rule) {
	switch r.Type {
	case Compound:
	case Collection:
		r.Party = Aggregation(p.ruleWord(o, "partyAggregation", listParties, false))
	default:
		if r.Party = Aggregation(p.ruleWord(o, "partyAggregation", numberParties, false)); r.Party == NoAggregation {
			r.Party = Average
		}
	}
}

func (p *parser) expressions() {
	for i, o := range p.rules {
		r := p.set.Rules[i]
		if r.Type != Comparison && r.Type != Distance && r.Type != Collection {
			continue
		}
		all, ok := texts(o.m["measurements"])
		for j, text := range all {
			r.Measurements = append(r.Measurements, p.expression(text, fmt.Sprintf("%s[%d]", o.at("measurements"), j)))
		}
		if text, single := o.m["measurements"].(string); single && !ok {
			r.Measurements = []*Expr{p.expression(text, o.at("measurements"))}
		}
		if p.failed() {
			return
		}
		p.measurementTypes(o, r)
		if v := o.m["referenceValue"]; v != nil && !p.failed() && r.Operation != Intersect {
			r.Reference = p.reference(r, v, o.at("referenceValue"), ErrExprType)
		}
		if p.failed() {
			return
		}
	}
}

func (p *parser) measurementTypes(o object, r *Rule) {
	first := r.Measurements[0].Type.Elem
	for j, m := range r.Measurements {
		path := o.at("measurements")
		if _, list := o.m["measurements"].([]any); list {
			path = fmt.Sprintf("%s[%d]", path, j)
		}
		t := m.Type
		switch {
		case r.Type == Distance && t.Elem != NumberElem:
			p.fail(ErrExprType, path, "A distance rule measures numbers; this is %s.", t)
		case r.Type == Comparison && t.Elem != NumberElem && t.Elem != StringElem:
			p.fail(ErrExprType, path, "A comparison rule measures numbers or strings; this is %s.", t)
		case r.Type == Comparison && t.Elem != first:
			p.fail(ErrExprType, path, "All measurements of a comparison rule are numbers, or all are strings.")
		case r.Type == Comparison && t.Elem == StringElem && r.Operation != Equal && r.Operation != NotEqual:
			p.fail(ErrExprType, path, "Strings are compared with = and != only.")
		case r.Type == Collection && (t.Elem != StringElem || t.Depth == 0):
			p.fail(ErrExprType, path, "A collection rule measures lists of strings; this is %s.", t)
		}
	}
}

// reference reads a referenceValue (flexmatch.md 6.4) of a rule or of an expansion step.
func (p *parser) reference(r *Rule, v any, path string, code Code) *Reference {
	elem := r.Measurements[0].Type.Elem
	if list, ok := texts(v); ok && r.Type == Collection && r.Operation == ReferenceCount {
		return &Reference{Texts: list, Literal: true}
	}
	text, isText := v.(string)
	if n, ok := number(v); ok && elem == NumberElem {
		return &Reference{Number: &n, Literal: true}
	}
	if !isText {
		p.fail(code, path, "The referenceValue must fit the measurements, which are %ss; it is %s.", elem, kindOf(v))
		return nil
	}
	if r.Type == Collection && r.Operation == Contains || !strings.ContainsAny(text, "[(") { // text that is not meant to be an expression
		switch {
		case elem == NumberElem:
			p.fail(code, path, "The referenceValue must be a number or an expression of numbers; %s is neither.", quote(text))
		case r.Type == Collection && r.Operation == ReferenceCount:
			return &Reference{Texts: []string{text}, Literal: true}
		}
		return &Reference{Text: &text, Literal: true}
	}
	if _, bad := parseExpr(text); bad != nil && elem != NumberElem {
		if r.Type == Collection {
			return &Reference{Texts: []string{text}, Literal: true}
		}
		return &Reference{Text: &text, Literal: true}
	}
	e := p.expression(text, path)
	if e == nil {
		return nil
	}
	if e.Type.Elem != elem {
		p.fail(ErrExprType, path, "The measurements are %ss; the referenceValue is %s.", elem, e.Type)
	}
	return &Reference{Expr: e}
}

// unknownProperties reports properties that the language does not define.
func (p *parser) unknownProperties() {
	p.unknown(p.body, "")
	if m, ok := p.body.m["algorithm"].(map[string]any); ok {
		p.unknown(object{m, "$.algorithm"}, "algorithm")
	}
	for _, key := range []string{"playerAttributes", "teams", "expansions"} {
		for _, o := range p.objects(p.body, key, ErrJSON) {
			p.unknown(o, key)
			if key == "expansions" {
				for _, step := range p.objects(o, "steps", ErrJSON) {
					p.unknown(step, "steps")
				}
			}
		}
	}
	for i, o := range p.rules {
		p.unknown(o, string(p.set.Rules[i].Type), "name", "type", "description")
	}
}

func (p *parser) unknown(o object, kind string, also ...string) {
	var names []string
	for key := range o.m {
		if !slices.Contains(properties[kind], key) && !slices.Contains(also, key) {
			names = append(names, key)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		path := o.path + "[" + quote(name) + "]"
		if p.options.Strict {
			p.fail(ErrUnknownProperty, path, "The rule language has no such property here.")
		}
		p.warn(path, "The rule language has no such property here; it is ignored.")
	}
}
