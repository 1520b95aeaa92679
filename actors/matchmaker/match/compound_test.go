package match

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"troupe/actors/matchmaker/ruleset"
)

// compoundRules has two teams of 3 to 6 players. A compound statement requires the same map and mode.
const compoundRules = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"map","type":"string"},{"name":"mode","type":"string"},{"name":"skill","type":"number","default":10}],
	"teams":[{"name":"red","minPlayers":3,"maxPlayers":6},{"name":"blue","minPlayers":3,"maxPlayers":6}],
	"rules":[
		{"name":"SameMap","type":"comparison","measurements":["flatten(teams[*].players.attributes[map])"],"operation":"="},
		{"name":"SameMode","type":"comparison","measurements":["flatten(teams[*].players.attributes[mode])"],"operation":"="},
		%s{"name":"Both","type":"compound","statement":"%s"}]}`

const closeRule = `{"name":"Close","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":5},`

func compound(t *testing.T, statement string) *ruleset.RuleSet {
	extra := ""
	if strings.Contains(statement, "Close") {
		extra = closeRule
	}
	return parse(t, fmt.Sprintf(compoundRules, extra, statement))
}

// kinds adds n single players. It assigns the given kinds in turn. A kind consists of map, mode and skill.
func kinds(t *testing.T, p *Pool, n int, all ...string) {
	t.Helper()
	for i := range n {
		kind := strings.Fields(all[i%len(all)])
		var skill float64
		fmt.Sscan(kind[2], &skill)
		err := p.Add(Ticket{ID: fmt.Sprint("t", i), Start: at(float64(i) / 100), Players: []Player{{ID: fmt.Sprint("p", i), Attributes: map[string]ruleset.Value{
			"map": {Type: ruleset.String, S: kind[0]}, "mode": {Type: ruleset.String, S: kind[1]}, "skill": {Type: ruleset.Number, N: skill},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A compound rule rejects incomplete candidates just as its parts would on their own. Otherwise the search
// would try all sets of tickets, although one part of the rule rules most of them out.
func TestCompoundRulesPrune(t *testing.T) {
	for _, statement := range []string{
		"and(SameMap, SameMode)",
		"or(SameMap, SameMode)",
		"and(or(SameMap, Close), SameMode)",
		"and(SameMap, not(not(SameMode)))",
		"or(and(SameMap, SameMode), and(SameMap, Close))",
	} {
		pool := New(compound(t, statement), Options{})
		kinds(t, pool, 24, "desert flag 10", "ice race 90")
		s := pool.Begin(at(10), 1)
		for !s.Step(20_000) {
		}
		matched := 0
		for _, m := range s.Take() {
			matched += len(m.Tickets)
		}
		if matched != 24 || s.Evaluations() > 2000 {
			t.Errorf("%s: %d of 24 tickets matched, with %d evaluations", statement, matched, s.Evaluations())
		}
	}
}

// The explanation of a ticket names the compound rule that excludes other tickets.
func TestExplanationsNameCompoundRules(t *testing.T) {
	pool := New(compound(t, "and(SameMap, SameMode)"), Options{})
	kinds(t, pool, 6, "desert flag 10", "ice race 90", "desert flag 10")
	e, _ := pool.Explain("t0", at(10), math.MaxInt)
	if len(e.Blocked) != 1 || e.Blocked[0].Rule != "Both" || e.Blocked[0].Tickets != 2 || e.Compatible != 3 {
		t.Errorf("%+v", e)
	}
}

// The explanation of a ticket tells whether all sets of tickets were tried.
func TestExplanationsSayWhetherTheSearchWasCut(t *testing.T) {
	// No set of tickets has the required average. With 100 tickets there are too many sets to try all of
	// them.
	for n, cut := range map[int]bool{10: false, 100: true} {
		pool := New(parse(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],"teams":[{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}],
			"rules":[{"name":"A","type":"comparison","operation":"=","measurements":["avg(flatten(teams[*].players.attributes[skill]))"],"referenceValue":0.5}]}`), Options{})
		for i := range n {
			fill(t, pool, []Ticket{{ID: fmt.Sprint("t", i), Start: at(0), Players: []Player{{ID: fmt.Sprint("p", i), Attributes: map[string]ruleset.Value{"skill": {Type: ruleset.Number, N: float64(i)}}}}}})
		}
		s := pool.Begin(at(10), 1)
		for !s.Step(20_000) {
		}
		if e, _ := pool.Explain("t0", at(10), math.MaxInt); len(s.Take()) != 0 || e.Cut != cut {
			t.Errorf("%d tickets: cut %v", n, e.Cut)
		}
	}
}
