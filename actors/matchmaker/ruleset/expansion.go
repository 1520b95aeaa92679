package ruleset

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// maxWait is the longest request timeout. No ticket reaches a step after it.
const maxWait = 43200 * time.Second

// step is a parsed step of an expansion.
type step struct {
	at    time.Duration
	apply func(*Stage)
}

// expansionProperties are the properties that expansions may change.
var expansionProperties = []string{
	"referenceValue", "operation", "minDistance", "maxDistance", "minCount", "maxCount", "maxLatency", "distanceReference", "partyAggregation",
}

func (p *parser) expansions() {
	all := make([][]step, 0)
	for _, o := range p.objects(p.body, "expansions", ErrExpansionTarget) {
		target, ok := o.m["target"].(string)
		if !ok {
			p.fail(ErrExpansionTarget, o.at("target"), "An expansion needs a target, such as rules[name].maxDistance.")
			return
		}
		set := p.target(target, o)
		if p.failed() {
			return
		}
		all = append(all, p.steps(o, target, set))
		if p.failed() {
			return
		}
	}
	slices.SortStableFunc(p.set.Changes, func(a, b Change) int { return int(a.At - b.At) })
	p.stages(all)
}

// setter checks the value of a step and returns a function that applies it, or nil if the check fails.
type setter struct {
	base any // the value before the first step
	set  func(v any, path string) func(*Stage)
}

func (p *parser) target(text string, o object) setter {
	malformed := func() setter {
		p.fail(ErrExpansionTarget, o.at("target"), "A target is rules[name].property or teams[name].property; %s is neither.", quote(text))
		return setter{}
	}
	text = strings.TrimSpace(text)
	kind, rest, ok := strings.Cut(text, "[")
	if !ok {
		return malformed()
	}
	end := strings.LastIndex(rest, "].")
	if end < 0 {
		return malformed()
	}
	selection, property := rest[:end], rest[end+2:]
	names := strings.Split(selection, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	switch kind {
	case "teams", "team":
		return p.teamTarget(names, property, o.at("target"))
	case "rules", "rule":
		return p.ruleTarget(names, property, o.at("target"))
	}
	return malformed()
}

func (p *parser) teamTarget(names []string, property, path string) setter {
	if property != "minPlayers" && property != "maxPlayers" {
		p.fail(ErrExpansionTarget, path, "Of teams, only minPlayers and maxPlayers expand.")
		return setter{}
	}
	var indexes []int
	for _, name := range names {
		found, _ := p.lookUpTeam(name)
		if len(found) == 0 {
			p.fail(ErrExpansionTarget, path, "There is no team %s.", quote(name))
			return setter{}
		}
		indexes = append(indexes, found...)
	}
	first := p.set.Teams[indexes[0]]
	base := first.Min
	if property == "maxPlayers" {
		base = first.Max
	}
	return setter{base, func(v any, path string) func(*Stage) {
		n := integer(v)
		if n < 0 || property == "maxPlayers" && (n < 1 || n > MaxPlayers) {
			p.fail(ErrExpansionSteps, path, "The value of %s must be an integer, 0 or more; maxPlayers is 1 to %d.", property, MaxPlayers)
			return nil
		}
		return func(s *Stage) {
			for _, i := range indexes {
				if property == "minPlayers" {
					s.Teams[i].Min = n
				} else {
					s.Teams[i].Max = n
				}
			}
		}
	}}
}

func (p *parser) ruleTarget(names []string, property, path string) setter {
	if !slices.Contains(expansionProperties, property) {
		p.fail(ErrExpansionTarget, path, "The property %s of a rule does not expand.", quote(property))
		return setter{}
	}
	var base any
	var indexes []int
	for _, name := range names {
		i := slices.IndexFunc(p.set.Rules, func(r *Rule) bool { return r.Name == name })
		if i < 0 {
			p.fail(ErrExpansionTarget, path, "There is no rule %s.", quote(name))
			return setter{}
		}
		r := p.set.Rules[i]
		v := p.rules[i].m[property]
		switch {
		case r.Type == Compound:
			p.fail(ErrExpansionTarget, path, "The rule %s is compound: its members expand, not it.", quote(name))
		case r.Type.IsSort():
			p.fail(ErrExpansionTarget, path, "The rule %s sorts: it does not expand.", quote(name))
		case v == nil && property != "partyAggregation" || !slices.Contains(properties[string(r.Type)], property):
			p.fail(ErrExpansionTarget, path, "The rule %s has no property %s.", quote(name), property)
		case p.set.Large() && property != "maxLatency" && property != "maxDistance":
			p.fail(ErrExpansionTarget, path, "Of large matches, only maxLatency and the maxDistance of batchDistance expand.")
		}
		if p.failed() {
			return setter{}
		}
		if base == nil {
			base = v
		}
		indexes = append(indexes, i)
	}
	return setter{base, func(v any, path string) func(*Stage) {
		var sets []func(*Rule)
		for _, i := range indexes {
			sets = append(sets, p.ruleValue(p.set.Rules[i], property, v, path))
		}
		if p.failed() {
			return nil
		}
		return func(s *Stage) {
			for j, i := range indexes {
				changed := *s.Rules[i]
				sets[j](&changed)
				s.Rules[i] = &changed
			}
		}
	}}
}

// ruleValue checks the value of a step for one rule. It returns a function that sets the value.
func (p *parser) ruleValue(r *Rule, property string, v any, path string) func(*Rule) {
	word := func(allowed []string) string {
		s, _ := v.(string)
		if !slices.Contains(allowed, s) {
			p.fail(ErrExpansionSteps, path, "The value of %s must be %s.", property, alternatives(allowed))
		}
		return s
	}
	switch property {
	case "operation":
		if r.Type == Collection {
			// Another operation would need a referenceValue of another type.
			p.fail(ErrExpansionSteps, path, "The operation of a collection rule does not change.")
			return nil
		}
		s := word(comparisonOps)
		if ordering := s != Equal && s != NotEqual; ordering && (r.Reference == nil || r.Measurements[0].Type.Elem == StringElem) {
			p.fail(ErrExpansionSteps, path, "The operation %s needs numbers and a referenceValue.", quote(s))
		}
		return func(r *Rule) { r.Operation = s }
	case "distanceReference":
		s := word([]string{string(Minimum), string(Average)})
		return func(r *Rule) { r.DistanceReference = Aggregation(s) }
	case "partyAggregation":
		allowed := numberParties
		if r.Type == Collection {
			allowed = listParties
		}
		s := word(allowed)
		return func(r *Rule) { r.Party = Aggregation(s) }
	case "referenceValue":
		if r.Reference == nil {
			p.fail(ErrExpansionSteps, path, "The operation of the rule has no referenceValue.")
			return nil
		}
		ref := p.reference(r, v, path, ErrExpansionSteps)
		return func(r *Rule) { r.Reference = ref }
	}
	n, ok := number(v)
	if !ok || n < 0 {
		p.fail(ErrExpansionSteps, path, "The value of %s must be a number, 0 or more.", property)
	}
	return func(r *Rule) { *r.number(property) = &n }
}

func (p *parser) steps(o object, target string, set setter) []step {
	all := p.objects(o, "steps", ErrExpansionSteps)
	if len(all) == 0 {
		p.fail(ErrExpansionSteps, o.at("steps"), "An expansion needs at least one step.")
		return nil
	}
	out := make([]step, 0, len(all))
	last, before := -1.0, asJSON(set.base)
	for _, s := range all {
		wait, ok := number(s.m["waitTimeSeconds"])
		switch {
		case !ok || wait < 0 || wait > 1e9:
			p.fail(ErrExpansionSteps, s.at("waitTimeSeconds"), "waitTimeSeconds must be a number, 0 or more.")
		case wait <= last:
			p.fail(ErrExpansionSteps, s.at("waitTimeSeconds"), "Wait times must grow from step to step; %v comes after %v.", wait, last)
		}
		if p.failed() {
			return nil
		}
		v, present := s.m["value"]
		if !present || v == nil {
			p.fail(ErrExpansionSteps, s.at("value"), "A step needs a value.")
			return nil
		}
		apply := set.set(v, s.at("value"))
		if p.failed() {
			return nil
		}
		last = wait
		at := time.Duration(wait * float64(time.Second))
		if at > maxWait {
			p.warn(s.at("waitTimeSeconds"), "No request waits longer than %d seconds: this step is never reached.", int(maxWait.Seconds()))
		}
		out = append(out, step{at, apply})
		after := asJSON(v)
		p.set.Changes = append(p.set.Changes, Change{strings.TrimSpace(target), at, before, after})
		before = after
	}
	return out
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// stages computes a stage for each wait time. Stages share the rules that do not change.
func (p *parser) stages(all [][]step) {
	times := []time.Duration{0}
	for _, steps := range all {
		for _, s := range steps {
			times = append(times, s.at)
		}
	}
	slices.Sort(times)
	times = slices.Compact(times)
	if len(times)-1 > MaxStages {
		p.fail(ErrExpansionSteps, "$.expansions", "The steps of all expansions have at most %d different wait times; here they have %d.", MaxStages, len(times)-1)
		return
	}
	limit := MaxPlayers
	if !p.set.Large() {
		limit = MaxSmallPlayers
	}
	inForce := make([]int, len(all)) // number of steps in force, by expansion
	last := Stage{Teams: p.set.Teams, Rules: p.set.Rules}
	for _, at := range times {
		stage := Stage{at, slices.Clone(last.Teams), slices.Clone(last.Rules)}
		for i, steps := range all {
			n := sort.Search(len(steps), func(j int) bool { return steps[j].at > at })
			if n > inForce[i] {
				steps[n-1].apply(&stage)
				inForce[i] = n
			}
		}
		if total := totalPlayers(stage.Teams); total > limit {
			p.fail(ErrExpansionSteps, "$.expansions", "After %v, a match would have up to %d players; expansions end at %d.", at, total, limit)
			return
		}
		for _, t := range stage.Teams {
			if t.Min > t.Max {
				p.warn("$.expansions", "After %v, minPlayers of the team %s is more than its maxPlayers: nothing matches then.", at, quote(t.Name))
			}
		}
		p.set.Stages = append(p.set.Stages, stage)
		last = stage
	}
}
