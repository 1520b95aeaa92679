package matchmaking

import (
	"reflect"
	"testing"
	"time"

	"troupe/actors/matchmaker/match"
	"troupe/actors/matchmaker/ruleset"
)

func TestMeasuresOfAMatch(t *testing.T) {
	set, err := ruleset.Parse(`{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"roles","type":"string_list"},{"name":"mode","type":"string"}],
		"teams":[{"name":"p","minPlayers":1,"maxPlayers":1,"quantity":2}],"rules":[
		{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":5},
		{"name":"Good","type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":1},
		{"name":"Few","type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[roles])"],"referenceValue":"medic","maxCount":3},
		{"name":"Shared","type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[roles])"],"minCount":1},
		{"name":"Fast","type":"latency","maxLatency":50},
		{"name":"League","type":"batchDistance","batchAttribute":"skill","maxDistance":50},
		{"name":"Mode","type":"comparison","operation":"=","measurements":["flatten(teams[*].players.attributes[mode])"]}],
		"expansions":[{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":10,"value":20}]},{"target":"rules[Fast].maxLatency","steps":[{"waitTimeSeconds":5,"value":60}]}]}`, ruleset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pool := match.New(set, match.Options{})
	for _, v := range []struct {
		id    string
		skill float64
		roles []string
		ms    map[string]int
	}{{"a", 10, []string{"medic", "tank"}, map[string]int{"eu": 40, "us": 10}}, {"b", 22, []string{"tank", "medic"}, map[string]int{"eu": 45, "us": 55}}} {
		player := match.Player{ID: v.id, Latencies: v.ms, Attributes: map[string]ruleset.Value{
			"skill": {Type: ruleset.Number, N: v.skill}, "roles": {Type: ruleset.StringList, SL: v.roles}, "mode": {Type: ruleset.String, S: "ctf"},
		}}
		if err := pool.Add(match.Ticket{ID: v.id, Start: epoch, Players: []match.Player{player}}); err != nil {
			t.Fatal(err)
		}
	}
	pass := pool.Begin(epoch.Add(12*time.Second), 1)
	for !pass.Step(1000) {
	}
	matches := pass.Take()
	if len(matches) != 1 {
		t.Fatalf("%d matches", len(matches))
	}
	want := []measure{
		{"Near", 12, true, false, true}, {"Good", 10, true, true, false}, {"Few", 2, true, false, false}, {"Shared", 2, true, true, false},
		{"Fast", 45, true, false, false}, {"League", 12, true, false, false}, {"Mode", 0, false, false, false},
	}
	got, err := measureMatch(set, &matches[0])
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\nwant\n%+v", err, got, want)
	}
}
