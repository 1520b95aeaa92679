package match

import (
	"reflect"
	"testing"
)

func TestMeasuresOfAMatch(t *testing.T) {
	set := parse(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"roles","type":"string_list"},{"name":"mode","type":"string"}],
		"teams":[{"name":"p","minPlayers":1,"maxPlayers":1,"quantity":2}],"rules":[
		{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":5},
		{"name":"Good","type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":">=","referenceValue":1},
		{"name":"Few","type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[roles])"],"referenceValue":"medic","maxCount":3},
		{"name":"Shared","type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[roles])"],"minCount":1},
		{"name":"Fast","type":"latency","maxLatency":50},
		{"name":"League","type":"batchDistance","batchAttribute":"skill","maxDistance":50},
		{"name":"Mode","type":"comparison","operation":"=","measurements":["flatten(teams[*].players.attributes[mode])"]}],
		"expansions":[{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":10,"value":20}]},{"target":"rules[Fast].maxLatency","steps":[{"waitTimeSeconds":5,"value":60}]}]}`)
	pool := New(set, Options{})
	for i, v := range []struct {
		skill float64
		roles []any
		ms    map[string]int
	}{{10, []any{"medic", "tank"}, map[string]int{"eu": 40, "us": 10}}, {22, []any{"tank", "medic"}, map[string]int{"eu": 45, "us": 55}}} {
		ticket := skilled(string(rune('a'+i)), 0, v.skill, 1)
		ticket.Players[0].Latencies = v.ms
		ticket.Players[0].Attributes["roles"], ticket.Players[0].Attributes["mode"] = attribute(v.roles), attribute("ctf")
		fill(t, pool, []Ticket{ticket})
	}
	matches := pass(pool, at(12), 1)
	if len(matches) != 1 {
		t.Fatalf("%d matches", len(matches))
	}
	meter := NewMeter(set)
	want := []Measure{
		{"Near", 12, true, false, true}, {"Good", 10, true, true, false}, {"Few", 2, true, false, false}, {"Shared", 2, true, true, false},
		{"Fast", 45, true, false, false}, {"League", 12, true, false, false}, {"Mode", 0, false, false, false},
	}
	for range 2 { // it forgets the tickets
		got, err := meter.Measure(&matches[0])
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%v\n%+v\nwant\n%+v", err, got, want)
		}
	}
}
