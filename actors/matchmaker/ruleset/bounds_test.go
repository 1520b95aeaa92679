package ruleset

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// The cost of the largest rule sets is limited. They have 200 players, deep nesting, as many rules, steps and
// statement members as a rule set has room for, and values that are lists or deeply nested.
func TestLargestRuleSetsCostTheirBound(t *testing.T) {
	steps := func(n int, value string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{"waitTimeSeconds":%d,"value":%s}`, i+1, fmt.Sprintf(value, i+1))
		}
		return strings.Join(all, ",")
	}
	rules := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprintf(`{"name":"%d","type":"latency","maxLatency":9}`, i)
		}
		return strings.Join(all, ",")
	}
	names := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = fmt.Sprint(i)
		}
		return strings.Join(all, ",")
	}
	for name, c := range map[string]struct {
		body string
		code Code // "" if the rule set is valid
	}{
		"200 players, one team each":  {"{" + v + "," + attr + `,"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},"teams":[{"name":"red","minPlayers":1,"maxPlayers":1,"quantity":200}]}`, ""},
		"ten nested functions":        {measured("avg(" + strings.Repeat("flatten(", 9) + "teams[*].players.attributes[skill]" + strings.Repeat(")", 10)), ""},
		"steps":                       {expanded("rules[Near].maxDistance", steps(1500, "%d")), ErrExpansionSteps},
		"steps of 600 rules":          {"{" + v + "," + team + `,"rules":[` + rules(600) + `],"expansions":[{"target":"rules[` + names(600) + `].maxLatency","steps":[` + steps(100, "%d") + `]}]}`, ""},
		"a list of 15,000 elements":   {expanded("rules[Near].maxDistance", `{"waitTimeSeconds":1,"value":[`+strings.Repeat(`"a",`, 15_000)+`"a"]}`), ErrExpansionSteps},
		"a value 30,000 levels deep":  {expanded("rules[Near].maxDistance", `{"waitTimeSeconds":1,"value":`+strings.Repeat("[", 30_000)+strings.Repeat("]", 30_000)+`}`), ErrJSON},
		"a million elements":          {expanded("rules[Near].maxDistance", `{"waitTimeSeconds":1,"value":[`+strings.Repeat(`1,`, 1_000_000)+`1]}`), ErrSize},
		"a statement of 20,000 rules": {ruled(a + "," + b + `,{"name":"C","type":"compound","statement":"and(A` + strings.Repeat(",A", 20_000) + `)"}`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Parse(c.body, Options{})
			runtime.ReadMemStats(&after)
			if code := Code(strings.SplitN(fmt.Sprint(err), ":", 2)[0]); err != nil && code != c.code || err == nil && c.code != "" {
				t.Fatalf("%.200v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 {
				t.Errorf("it took %d MiB of memory", used>>20)
			}
		})
	}
}
