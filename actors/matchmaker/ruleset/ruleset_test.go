package ruleset

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const (
	v    = `"ruleLanguageVersion":"1.0"`
	team = `"teams":[{"name":"red","minPlayers":1,"maxPlayers":4}]`
	attr = `"playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}]`
	a    = `{"name":"A","type":"comparison","measurements":["count(teams[red].players)"],"referenceValue":1,"operation":"="}`
	b    = `{"name":"B","type":"comparison","measurements":["count(teams[red].players)"],"referenceValue":2,"operation":"="}`
	near = `{"name":"Near","type":"distance","measurements":["avg(teams[red].players.attributes[skill])"],"referenceValue":5,"maxDistance":3}`
	both = `{"name":"Comp","type":"compound","statement":"and(A, B)"}`
)

func ruled(rules string) string {
	return "{" + v + "," + team + "," + attr + `,"rules":[` + rules + "]}"
}

func measured(expr string) string {
	return ruled(`{"name":"r","type":"comparison","measurements":["` + expr + `"],"referenceValue":1,"operation":"="}`)
}

func expanded(target, steps string) string {
	return "{" + v + "," + team + "," + attr + `,"rules":[` + a + "," + b + "," + near + "," + both + `],"expansions":[{"target":"` + target + `","steps":[` + steps + "]}]}"
}

// FM-2, FM-3, FM-4: the invalid rule sets of flexmatch.md 20, and some of their neighbours.
var invalid = []struct {
	name, body string
	code       Code
	path       string
}{
	{"I01 missing brace", "{" + v + "," + team, ErrJSON, "$"},
	{"I01 comment", "{" + v + "," + team + "} // comment", ErrJSON, "$"},
	{"I01 comment inside", "{" + v + ", /* x */ " + team + "}", ErrJSON, "$"},
	{"I01 trailing data", "{" + v + "," + team + "}{}", ErrJSON, "$"},
	{"I01 array", "[]", ErrJSON, "$"},
	{"I02 version 2.0", `{"ruleLanguageVersion":"2.0",` + team + "}", ErrVersion, "$.ruleLanguageVersion"},
	{"I02 no version", "{" + team + "}", ErrVersion, "$.ruleLanguageVersion"},
	{"I02 version as number", `{"ruleLanguageVersion":1.0,` + team + "}", ErrVersion, "$.ruleLanguageVersion"},
	{"I03 no teams", "{" + v + "}", ErrTeamsMissing, "$.teams"},
	{"I03 empty teams", "{" + v + `,"teams":[]}`, ErrTeamsMissing, "$.teams"},
	{"I04", "{" + v + `,"teams":[{"name":"red","minPlayers":5,"maxPlayers":4}]}`, ErrTeamSize, "$.teams[0]"},
	{"I04 fraction", "{" + v + `,"teams":[{"name":"red","minPlayers":1,"maxPlayers":4.5}]}`, ErrTeamSize, "$.teams[0].maxPlayers"},
	{"I04 quantity 0", "{" + v + `,"teams":[{"name":"red","minPlayers":1,"maxPlayers":4,"quantity":0}]}`, ErrTeamSize, "$.teams[0].quantity"},
	{"I05", "{" + v + `,"teams":[{"name":"a","minPlayers":1,"maxPlayers":1,"quantity":2},{"name":"a_1","minPlayers":1,"maxPlayers":1}]}`, ErrTeamName, "$.teams[1].name"},
	{"I05 bracket", "{" + v + `,"teams":[{"name":"a[","minPlayers":1,"maxPlayers":1}]}`, ErrTeamName, "$.teams[0].name"},
	{"I06", "{" + v + "," + team + `,"playerAttributes":[{"name":"x","type":"boolean"}]}`, ErrAttrType, "$.playerAttributes[0].type"},
	{"I06 two of a name", "{" + v + "," + team + `,"playerAttributes":[{"name":"x","type":"number"},{"name":"x","type":"number"}]}`, ErrAttrName, "$.playerAttributes[1].name"},
	{"I06 too many", "{" + v + "," + team + `,"playerAttributes":[` + strings.Repeat(`{"name":"x","type":"number"},`, 100) + `{"name":"x","type":"number"}]}`, ErrAttrName, "$.playerAttributes"},
	{"I07", "{" + v + "," + team + `,"playerAttributes":[{"name":"x","type":"number","default":"ten"}]}`, ErrAttrDefault, "$.playerAttributes[0].default"},
	{"I08", ruled(`{"name":"r","type":"comparision","measurements":["count(teams[red].players)"],"referenceValue":1,"operation":"="}`), ErrRuleType, "$.rules[0].type"},
	{"I09", ruled(a + "," + a), ErrRuleName, "$.rules[1].name"},
	{"I10", ruled(`{"name":"r","type":"distance","measurements":["avg(teams[red].players.attributes[skill])"],"referenceValue":1}`), ErrRuleProperty, "$.rules[0]"},
	{"I11", ruled(`{"name":"r","type":"comparison","measurements":["count(teams[red].players)"],"operation":"<"}`), ErrRuleProperty, "$.rules[0].referenceValue"},
	{"I12", ruled(`{"name":"r","type":"comparison","measurements":["count(teams[red].players)"],"referenceValue":1,"operation":"=="}`), ErrRuleProperty, "$.rules[0].operation"},
	{"I13", measured("avg(teams[red].players.attributes[skill]"), ErrExprSyntax, "$.rules[0].measurements[0]"},
	{"I13 unknown function", measured("mean(teams[red].players.attributes[skill])"), ErrExprSyntax, "$.rules[0].measurements[0]"},
	{"I13 too deep", measured(strings.Repeat("flatten(", 17) + "teams[red].players.attributes[skill]" + strings.Repeat(")", 17)), ErrExprSyntax, "$.rules[0].measurements[0]"},
	{"I13 in a reference", ruled(`{"name":"r","type":"distance","measurements":["avg(teams[red].players.attributes[skill])"],"referenceValue":"avg(teams[red].players.attributes[skill]","maxDistance":1}`), ErrExprSyntax, "$.rules[0].referenceValue"},
	{"I14", measured("avg(teams[green].players.attributes[skill])"), ErrExprRef, "$.rules[0].measurements[0]"},
	{"I15", measured("avg(teams[red].players.attributes[mode])"), ErrExprType, "$.rules[0].measurements[0]"},
	{"I15 team alone", measured("count(teams[red])"), ErrExprType, "$.rules[0].measurements[0]"},
	{"I15 average of an average", measured("avg(avg(teams[red].players.attributes[skill]))"), ErrExprType, "$.rules[0].measurements[0]"},
	{"I16", measured("avg(teams[red].players.attributes[elo])"), ErrExprRef, "$.rules[0].measurements[0]"},
	{"I17", "{" + v + `,"teams":[{"name":"r","minPlayers":20,"maxPlayers":41}]}`, ErrLarge, "$.algorithm.strategy"},
	{"I18", "{" + v + "," + attr + `,"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},"teams":[{"name":"red","minPlayers":20,"maxPlayers":41}],"rules":[` + a + "]}", ErrLarge, "$.rules[0].type"},
	{"I19", "{" + v + "," + team + `,"algorithm":{"strategy":"balanced"}}`, ErrAlgorithm, "$.algorithm.balancedAttribute"},
	{"I20", "{" + v + "," + team + `,"algorithm":{"strategy":"exhaustiveSearch","batchingPreference":"fastestRegion"}}`, ErrAlgorithm, "$.algorithm.batchingPreference"},
	{"I21", "{" + v + "," + team + `,"algorithm":{"batchingPreference":"sorted"}}`, ErrAlgorithm, "$.algorithm.sortByAttributes"},
	{"I22", ruled(a + "," + both + "," + b), ErrCompound, "$.rules[1].statement"},
	{"I23", ruled(a + `,{"name":"D","type":"batchDistance","batchAttribute":"mode"},{"name":"C","type":"compound","statement":"and(A, D)"}`), ErrCompound, "$.rules[2].statement"},
	{"I24", ruled(a + "," + b + `,{"name":"C","type":"compound","statement":"not(A, B)"}`), ErrCompound, "$.rules[2].statement"},
	{"I24 too deep", ruled(a + `,{"name":"C","type":"compound","statement":"` + strings.Repeat("not(", 20) + "A" + strings.Repeat(")", 20) + `"}`), ErrCompound, "$.rules[1].statement"},
	{"I24 unclosed", ruled(a + "," + b + `,{"name":"C","type":"compound","statement":"and(A, B"}`), ErrCompound, "$.rules[2].statement"},
	{"I25", expanded("rules[Nope].maxDistance", `{"waitTimeSeconds":5,"value":1}`), ErrExpansionTarget, "$.expansions[0].target"},
	{"I26", expanded("rules[Comp].statement", `{"waitTimeSeconds":5,"value":"or(A, B)"}`), ErrExpansionTarget, "$.expansions[0].target"},
	{"I26 of a member", expanded("rules[A].measurements", `{"waitTimeSeconds":5,"value":[]}`), ErrExpansionTarget, "$.expansions[0].target"},
	{"I27", expanded("rules[Near].maxDistance", `{"waitTimeSeconds":10,"value":4},{"waitTimeSeconds":10,"value":5}`), ErrExpansionSteps, "$.expansions[0].steps[1].waitTimeSeconds"},
	{"I27 no steps", expanded("rules[Near].maxDistance", ""), ErrExpansionSteps, "$.expansions[0].steps"},
	{"I27 value of another type", expanded("rules[Near].maxDistance", `{"waitTimeSeconds":10,"value":"far"}`), ErrExpansionSteps, "$.expansions[0].steps[0].value"},
	{"I27 team beyond the limit", expanded("teams[red].maxPlayers", `{"waitTimeSeconds":10,"value":41}`), ErrExpansionSteps, "$.expansions"},
	{"I28", ruled(`{"name":"L","type":"latency","maxDistance":10}`), ErrRuleProperty, "$.rules[0].distanceReference"},
	{"I29", "{" + v + "," + attr + `,"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},"teams":[{"name":"red","minPlayers":1,"maxPlayers":67,"quantity":3}]}`, ErrLarge, "$.teams"},
	{"I29 very many teams", "{" + v + "," + attr + `,"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},"teams":[{"name":"red","minPlayers":1,"maxPlayers":1000000000,"quantity":1000000000}]}`, ErrLarge, "$.teams"},
	{"I30", ruled(`{"name":"r","type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[mode])"],"maxCount":1}`), ErrRuleProperty, "$.rules[0].referenceValue"},
	{"FM-1 empty", "", ErrSize, "$"},
	{"FM-1 65,536 characters", "{" + v + "," + team + "}" + strings.Repeat(" ", 65536-len(v)-len(team)-3), ErrSize, "$"},
}

func TestInvalidRuleSetsGiveTheCodeAndThePath(t *testing.T) {
	for _, c := range invalid {
		t.Run(c.name, func(t *testing.T) {
			_, err := Parse(c.body, Options{})
			e := new(Error)
			if !errors.As(err, &e) {
				t.Fatalf("accepted, or another error: %v", err)
			}
			if e.Code != c.code || e.Path != c.path {
				t.Errorf("%v, want %s at %s", e, c.code, c.path)
			}
			if !strings.HasPrefix(err.Error(), string(c.code)+": ") || !strings.HasSuffix(err.Error(), ".") && !strings.HasSuffix(err.Error(), ".)") {
				t.Errorf("the message is %q, want the code, the path and a sentence", err)
			}
		})
	}
}

// FM-2: the official examples, and what flexmatch.md 20 calls valid on purpose.
func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("testdata/examples/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set, err := Parse(string(body), Options{Strict: true})
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if len(set.Warnings) > 0 {
			t.Errorf("%s: %v", file, set.Warnings)
		}
	}
}

func TestValidOnPurpose(t *testing.T) {
	for name, body := range map[string]string{
		"empty name":                       `{"name":"",` + v + "," + team + "}",
		"balanced with a small match":      "{" + v + "," + team + "," + attr + `,"algorithm":{"strategy":"balanced","balancedAttribute":"skill"}}`,
		"algorithm without a strategy":     "{" + v + "," + team + `,"algorithm":{"backfillPriority":"low"}}`,
		"hyphens in a statement":           ruled(strings.Replace(a, `"A"`, `"one-of-a"`, 1) + "," + b + `,{"name":"C","type":"compound","statement":"or(one-of-a, not( B ))"}`),
		"an earlier compound rule":         ruled(a + "," + b + "," + both + `,{"name":"C","type":"compound","statement":"xor(Comp, B)"}`),
		"teams only":                       "{" + v + "," + team + "}",
		"FM-1 65,535 characters":           "{" + v + "," + team + "}" + strings.Repeat(" ", 65535-len(v)-len(team)-3),
		"duplicate keys, last wins":        "{" + v + `,"teams":[],` + team + "}",
		"unknown property":                 "{" + v + "," + team + `,"x":1}`,
		"minPlayers 0":                     "{" + v + `,"teams":[{"name":"red","minPlayers":0,"maxPlayers":4}]}`,
		"FM-6 measurements as a string":    ruled(`{"name":"r","type":"comparison","measurements":"count (teams[*].players)","referenceValue":1,"operation":"="}`),
		"FM-7 numbers as strings":          ruled(`{"name":"r","type":"distance","measurements":"avg(team[red].players.attributes[skill])","referenceValue":"5","maxDistance":"500"}`),
		"FM-8 set_intersection of flatten": ruled(`{"name":"r","type":"collection","operation":"reference_intersection_count","measurements":["teams[red].players[playerid]"],"referenceValue":"set_intersection(teams[*].players.attributes[mode])","maxCount":1}`),
		"FM-9 max of avg":                  measured("max(avg(teams[*].players.attributes[skill]))"),
		"literal with brackets":            ruled(`{"name":"r","type":"comparison","measurements":"teams[red].players.attributes[mode]","referenceValue":"[x]","operation":"!="}`),
	} {
		set, err := Parse(body, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if name == "unknown property" && len(set.Warnings) != 1 {
			t.Errorf("warnings %v, want one of the unknown property", set.Warnings)
		}
	}
	if _, err := Parse("{"+v+","+team+`,"x":1}`, Options{Strict: true}); err == nil || !strings.HasPrefix(err.Error(), string(ErrUnknownProperty)) {
		t.Errorf("strict: %v", err)
	}
}

// FM-15, FM-16: a step is in force from its wait time on, for every instance of a definition.
func TestStagesHaveTheValuesInForce(t *testing.T) {
	body := "{" + v + `,"teams":[{"name":"trio","minPlayers":3,"maxPlayers":3,"quantity":2}],` + attr + `,"rules":[` + strings.ReplaceAll(near, "red", "trio") + `],"expansions":[
		{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":10,"value":20},{"waitTimeSeconds":30,"value":40}]},
		{"target":"teams[trio].minPlayers","steps":[{"waitTimeSeconds":20,"value":1}]}]}`
	set, err := Parse(strings.ReplaceAll(body, "avg(teams", "avg(teams"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	type state struct {
		distance  float64
		min1, min int
	}
	for age, want := range map[time.Duration]state{
		0: {3, 3, 3}, 10*time.Second - 1: {3, 3, 3}, 10 * time.Second: {20, 3, 3}, 20 * time.Second: {20, 1, 1}, 30 * time.Second: {40, 1, 1}, time.Hour: {40, 1, 1},
	} {
		s := set.Stages[set.StageAt(age)]
		if got := (state{*s.Rules[0].MaxDistance, s.Teams[0].Min, s.Teams[1].Min}); got != want {
			t.Errorf("after %v: %v, want %v", age, got, want)
		}
	}
	want := []Change{
		{"rules[Near].maxDistance", 10 * time.Second, "3", "20"}, {"teams[trio].minPlayers", 20 * time.Second, "3", "1"}, {"rules[Near].maxDistance", 30 * time.Second, "20", "40"},
	}
	if !reflect.DeepEqual(set.Changes, want) {
		t.Errorf("changes %v, want %v", set.Changes, want)
	}
	if *set.Rules[0].MaxDistance != 3 {
		t.Error("a stage has changed the base")
	}
}

func TestExpressionTypes(t *testing.T) {
	body := "{" + v + `,"playerAttributes":[{"name":"n","type":"number"},{"name":"s","type":"string"},{"name":"l","type":"string_list"}],
		"teams":[{"name":"red","minPlayers":1,"maxPlayers":4},{"name":"trio","minPlayers":1,"maxPlayers":3,"quantity":3}],"rules":[]}`
	p := &parser{set: &RuleSet{}}
	p.document(body)
	p.attributes()
	p.teams()
	for text, want := range map[string]string{
		"teams[red].players":                                        "List<player>",
		"teams[red, trio_2].players":                                "List<List<player>>",
		"teams[trio].players":                                       "List<List<player>>",
		"teams[trio_2].players":                                     "List<player>",
		"teams[red].players[playerID]":                              "List<string>",
		"teams[*].players.attributes[l]":                            "List<List<List<string>>>",
		"flatten(teams[*].players.attributes[l])":                   "List<List<string>>",
		"flatten(teams[red].players.attributes[n])":                 "List<number>",
		"avg(teams[*].players.attributes[n])":                       "List<number>",
		"max(avg(teams[*].players.attributes[n]))":                  "number",
		"count(teams[*].players)":                                   "List<number>",
		"count(flatten( teams[*].players ))":                        "number",
		"set_intersection(flatten(teams[*].players.attributes[l]))": "List<string>",
		"set_intersection(teams[*].players.attributes[l])":          "List<List<string>>",
		"set_intersection(teams[*].players.attributes[s])":          "List<string>",
	} {
		p.firstErr = nil
		e := p.expression(text, "$")
		if e == nil {
			t.Errorf("%s: %v", text, p.firstErr)
		} else if e.Type.String() != want {
			t.Errorf("%s is %s, want %s", text, e.Type, want)
		}
	}
}

// Whatever comes in: a valid rule set, or an error with code, path and sentence. Never a panic.
func FuzzParse(f *testing.F) {
	for _, c := range invalid {
		if len(c.body) < 4096 {
			f.Add(c.body)
		}
	}
	files, _ := filepath.Glob("testdata/examples/*.json")
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(body))
	}
	f.Fuzz(func(t *testing.T, body string) {
		set, err := Parse(body, Options{})
		if err != nil {
			if e := new(Error); !errors.As(err, &e) || e.Code == "" || !strings.HasPrefix(e.Path, "$") || e.Reason == "" {
				t.Fatalf("error %v", err)
			}
			return
		}
		if !json.Valid([]byte(body)) || len(set.Teams) == 0 || len(set.Stages) == 0 || totalPlayers(set.Teams) > MaxPlayers {
			t.Fatalf("accepted: %+v", set)
		}
		for i := range set.Stages {
			if i > 0 && set.Stages[i].From <= set.Stages[i-1].From {
				t.Fatal("stages are not in order")
			}
			for j, r := range set.Stages[i].Rules {
				if r.Index != j {
					t.Fatal("a rule has moved")
				}
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	body, err := os.ReadFile("testdata/examples/three-teams-with-quantity.json")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(string(body), Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
