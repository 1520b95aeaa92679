package suite

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"troupe/actors/matchmaker/ruleset"
	"troupe/bench/matchmaking"
)

const rules = `{"name":"duel","ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],"teams":[{"name":"p","minPlayers":1,"maxPlayers":1,"quantity":2}],
	"rules":[{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":10}],
	"expansions":[{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":20,"value":40}]}]}`

func TestSimulation(t *testing.T) {
	set, err := ruleset.Parse(rules, ruleset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	recorded := `[{"id":"A","start":0,"players":[{"id":"a","attributes":{"skill":50}}]},{"id":"C","start":3,"players":[{"id":"c","attributes":{"skill":500}}]},
		{"id":"B","start":1,"players":[{"id":"b","attributes":{"skill":80}}]},{"id":"D","start":4,"players":[{"id":"d1","attributes":{"skill":1}},{"id":"d2","attributes":{"skill":2}}]}]`
	tickets, err := matchmaking.Read([]byte(recorded), set)
	if err != nil {
		t.Fatal(err)
	}
	got, err := matchmaking.Simulate(set, tickets, matchmaking.Options{Interval: time.Second, Timeout: time.Minute, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	got.Evaluations = 0
	want := matchmaking.Report{
		RuleSet: "duel", Tickets: 4, Matched: 2, Matches: 1, Players: 2, WaitMedian: 20, WaitP90: 20, WaitP99: 20, WaitMost: 21,
		Stages:       []matchmaking.Stage{{Changes: []string{}}, {From: 20, Changes: []string{"rules[Near].maxDistance 10 -> 40"}, Matches: 1}},
		Quality:      []matchmaking.Quality{{Rule: "Near", Matches: 1, Expanded: 1, Known: true, Median: 30, P90: 30, P99: 30, Worst: 30, Values: []float64{30}}},
		Unmatched:    []matchmaking.Reason{{Reason: "other tickets: it matches nobody", Tickets: 1}, {Reason: "the ticket has 2 players; the largest team takes 1", Tickets: 1}},
		Distribution: []float64{20, 21},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	var text bytes.Buffer
	if err := got.Write(&text); err != nil || !strings.Contains(text.String(), "from 20 s  1        rules[Near].maxDistance 10 -> 40") ||
		!strings.Contains(text.String(), "Near  30   30   30   30     100.0 %") {
		t.Errorf("%v\n%s", err, &text)
	}
}

func TestGeneratedPlayersMatch(t *testing.T) {
	set, err := ruleset.Parse(rules, ruleset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := matchmaking.Population{Tickets: 500, PerSecond: 10, Locations: 2, Attributes: map[string]string{"skill": "100,20"}, Seed: 4}
	var last matchmaking.Report
	for range 2 {
		tickets, err := p.Generate(set)
		if err != nil {
			t.Fatal(err)
		}
		got, err := matchmaking.Simulate(set, tickets, matchmaking.Options{Interval: time.Second, Timeout: time.Minute})
		if err != nil || got.Matched < 400 {
			t.Fatalf("%d of 500 matched, %v", got.Matched, err)
		}
		if last.Tickets > 0 && !reflect.DeepEqual(got, last) {
			t.Error("the same seed gives another result")
		}
		last = got
	}
	p.Attributes = map[string]string{"elo": "1"}
	if _, err := p.Generate(set); err == nil {
		t.Error("an attribute that is not declared is accepted")
	}
}

// Invalid files of recorded players are rejected, and the message gives the position.
func TestRecordedPlayersAreRefused(t *testing.T) {
	set, err := ruleset.Parse(rules, ruleset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		`[{"id":"A","start":0,"players":[{"playerId":"a"}]}]`:                   `unknown field "playerId"`,
		`[{"id":"A","start":0,"players":[{"id":"a","attribute":{"skill":1}}]}]`: `unknown field "attribute"`,
		`{"id":"A"}`: "must be a JSON array of tickets; it is a JSON object",
		`[{"id":"A","start":"now","players":[{"id":"a"}]}]`:                        "Start is a string, at byte",
		`[{"start":0,"players":[{"id":"a"}]}]`:                                     "ticket 1 needs an id and players",
		`[{"id":"A","start":0,"players":[]}]`:                                      "ticket 1 needs an id and players",
		`[{"id":"A","start":0,"players":[{"attributes":{"skill":1}}]}]`:            "ticket A has a player without an id",
		`[{"id":"A","start":0,"players":[{"id":"a","attributes":{"skill":"x"}}]}]`: "the attribute skill must be a number",
		`[{"id":"A","start":0,"players":[{"id":"a"}]}`:                             "at byte",
		`[{"id":"A","start":0,"players":[{"id":"a"}]}] []`:                         "something follows",
	} {
		if _, err := matchmaking.Read([]byte(text), set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
