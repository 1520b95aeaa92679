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

	"troupe/actors/actorstest/assert"
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

// invalidRuleSet is an entry of testdata/invalid.json. The tests of the service API use this file, too.
type invalidRuleSet struct {
	Name, Body string
	Code       Code
	Path       string
}

func invalidRuleSets(t testing.TB) (all []invalidRuleSet) {
	t.Helper()
	raw, err := os.ReadFile("testdata/invalid.json")
	if err == nil {
		err = json.Unmarshal(raw, &all)
	}
	if err != nil || len(all) < 30 {
		t.Fatal(len(all), err)
	}
	return all
}

// FM-1, FM-2, FM-3, FM-4: the invalid rule sets of flexmatch.md 20, similar ones, and the size limits.
func TestInvalidRuleSetsGiveTheCodeAndThePath(t *testing.T) {
	invalid := append(invalidRuleSets(t), invalidRuleSet{"empty", "", ErrSize, "$"},
		invalidRuleSet{"65,536 characters", "{" + v + "," + team + "}" + strings.Repeat(" ", 65536-len(v)-len(team)-3), ErrSize, "$"})
	for _, c := range invalid {
		t.Run(c.Name, func(t *testing.T) {
			_, err := Parse(c.Body, Options{})
			e := new(Error)
			if !errors.As(err, &e) {
				t.Fatalf("accepted, or another error: %v", err)
			}
			if e.Code != c.Code || e.Path != c.Path {
				t.Errorf("%v, want %s at %s", e, c.Code, c.Path)
			}
			if !strings.HasPrefix(err.Error(), string(c.Code)+": ") || !strings.HasSuffix(err.Error(), ".") && !strings.HasSuffix(err.Error(), ".)") {
				t.Errorf("the message is %q, want the code, the path and a sentence", err)
			}
		})
	}
}

// FM-2: the official examples, and the rule sets that flexmatch.md 20 explicitly calls valid.
func TestExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob("testdata/examples/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d examples, %v", len(files), err)
	}
	for _, file := range files {
		body := assert.Value(os.ReadFile(file))(t)
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

// FM-15, FM-16: a step is in force from its wait time on, for every instance of a team definition.
func TestStagesHaveTheValuesInForce(t *testing.T) {
	body := "{" + v + `,"teams":[{"name":"trio","minPlayers":3,"maxPlayers":3,"quantity":2}],` + attr + `,"rules":[` + strings.ReplaceAll(near, "red", "trio") + `],"expansions":[
		{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":10,"value":20},{"waitTimeSeconds":30,"value":40}]},
		{"target":"teams[trio].minPlayers","steps":[{"waitTimeSeconds":20,"value":1}]}]}`
	set := assert.Value(Parse(strings.ReplaceAll(body, "avg(teams", "avg(teams"), Options{}))(t)
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
	assert.Equal(t, "a stage has changed the base", *set.Rules[0].MaxDistance, 3)
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

// For any input, Parse returns a valid rule set, or an error with code, path and reason. It never panics.
func FuzzParse(f *testing.F) {
	for _, c := range invalidRuleSets(f) {
		f.Add(c.Body)
	}
	files, _ := filepath.Glob("testdata/examples/*.json")
	for _, file := range files {
		body := assert.Value(os.ReadFile(file))(f)
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
	body := assert.Value(os.ReadFile("testdata/examples/three-teams-with-quantity.json"))(b)
	b.ReportAllocs()
	for b.Loop() {
		assert.OK(Parse(string(body), Options{}))(b)
	}
}
