package match

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/matchmaker/ruleset"
)

// largeRules returns a rule set for large matches: two teams of 21 to 25 players.
func largeRules(batching, backfill string, rules ...string) string {
	if backfill != "" {
		backfill = `,"backfillPriority":"` + backfill + `"`
	}
	return `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
		"algorithm":{"strategy":"balanced","balancedAttribute":"skill","batchingPreference":"` + batching + `"` + backfill + `},
		"teams":[{"name":"team","minPlayers":21,"maxPlayers":25,"quantity":2}],"rules":[` + strings.Join(rules, ",") + `]}`
}

const largeLatency = `{"name":"Fast","type":"latency","maxLatency":100}`

// singles returns tickets of one player each.
func singles(prefix string, n int, start float64, skill func(i int) float64, latencies map[string]int) []Ticket {
	all := make([]Ticket, n)
	for i := range all {
		all[i] = skilled(fmt.Sprint(prefix, i), start, skill(i), 1)
		all[i].Players[0].Latencies = latencies
	}
	return all
}

func alike(int) float64 { return 50 }

// countOf returns the number of tickets in a match whose IDs begin with a prefix.
func countOf(m Match, prefix string) (n int) {
	for _, t := range m.Tickets {
		if strings.HasPrefix(t.ID, prefix) {
			n++
		}
	}
	return n
}

// FM-5: L1 to L3.
func TestLargeMatchesChooseLocationAndTickets(t *testing.T) {
	both := map[string]int{"eu": 60, "us": 30}
	pools := slices.Concat(singles("eu", 40, 1, alike, map[string]int{"eu": 50}), singles("us", 30, 1, alike, map[string]int{"us": 50}), singles("both", 15, 0, alike, both))

	pool := New(parse(t, largeRules("largestPopulation", "", largeLatency)), Options{})
	fill(t, pool, pools)
	got := pass(pool, at(2), 1)
	if len(got) != 1 || countOf(got[0], "us") != 0 || countOf(got[0], "both") != 15 || len(got[0].Tickets) != 50 {
		t.Errorf("L1: %d matches, the first with %d tickets, %d of us and %d of both", len(got), len(got[0].Tickets), countOf(got[0], "us"), countOf(got[0], "both"))
	}

	pool = New(parse(t, largeRules("fastestRegion", "", largeLatency)), Options{})
	fill(t, pool, slices.Concat(pools, singles("eu-", 10, 1, alike, map[string]int{"eu": 50})))
	got = pass(pool, at(2), 1)
	if len(got) != 2 || countOf(got[0], "both")+countOf(got[1], "both") != 15 {
		t.Fatalf("L2: %d matches", len(got))
	}
	for _, m := range got {
		if us := countOf(m, "us"); us > 0 && (us != 30 || countOf(m, "both") != 15) {
			t.Errorf("L2: the match at us has %d of its own tickets and %d that prefer it", us, countOf(m, "both"))
		}
	}

	pool = New(parse(t, largeRules("largestPopulation", "")), Options{})
	fill(t, pool, singles("a", 80, 1, func(i int) float64 { return float64(i) }, nil))
	fill(t, pool, []Ticket{skilled("oldest", 0, 40, 1)})
	got = pass(pool, at(2), 1)
	if len(got) != 1 || got[0].Tickets[0].ID != "oldest" {
		t.Fatalf("L3: %d matches", len(got))
	}
	for _, ticket := range got[0].Tickets {
		if skill := ticket.Players[0].Attributes["skill"].N; math.Abs(skill-40) > 25 {
			t.Errorf("L3: a skill of %v plays with the oldest one's 40", skill)
		}
	}
}

// FM-5: L4 and L5.
func TestLargeMatchesKeepBatchDistanceAndBalance(t *testing.T) {
	pool := New(parse(t, largeRules("largestPopulation", "", `{"name":"League","type":"batchDistance","batchAttribute":"skill","maxDistance":10}`)), Options{})
	fill(t, pool, singles("low", 50, 0, func(i int) float64 { return float64(i % 10) }, nil))
	fill(t, pool, singles("high", 50, 1, func(i int) float64 { return 100 + float64(i%10) }, nil))
	fill(t, pool, singles("between", 20, 1, func(i int) float64 { return 50 + float64(i) }, nil))
	got := pass(pool, at(2), 1)
	if len(got) != 2 || countOf(got[0], "low") != 50 || countOf(got[1], "high") != 50 {
		t.Errorf("L4: %d matches", len(got))
	}
	for _, m := range got {
		sums := map[string]float64{}
		for _, team := range m.Teams {
			assert.Equal(t, "L5: a team of", len(team.Players), 25)
			for _, p := range team.Players {
				sums[team.Name] += p.Attributes["skill"].N
			}
		}
		// Five players for each of ten values, in two teams of 25: the sums differ by 0 or 1
		if d := sums["team_1"] - sums["team_2"]; math.Abs(d) > 1 {
			t.Errorf("L5: the sums differ by %v", d)
		}
	}
}

// FM-5: L6; FM-20 for large matches, and D-322.
func TestLargeMatchesBackfill(t *testing.T) {
	for _, c := range []struct {
		priority string
		anchor   string
		backfill bool // the first match contains the backfill ticket
	}{{"", "game", true}, {"high", "game", true}, {"normal", "oldest", false}, {"low", "oldest", false}} {
		pool := New(parse(t, largeRules("largestPopulation", c.priority)), Options{})
		fill(t, pool, []Ticket{skilled("oldest", 0, 50, 1)})
		fill(t, pool, singles("new", 70, 1, alike, nil))
		for i, id := range []string{"game", "game2"} {
			backfill := skilled(id, 2+float64(i), 50, 40)
			backfill.Backfill = id
			for j := range backfill.Players {
				backfill.Players[j].Team = []string{"team_1", "team_2"}[j%4/2%2]
			}
			fill(t, pool, []Ticket{backfill})
		}
		got := pass(pool, at(3), 1)
		if len(got) == 0 || got[0].Tickets[0].ID != c.anchor || (countOf(got[0], "game") == 1) != c.backfill {
			t.Errorf("%q: %d matches, the first around %s with %d backfill tickets", c.priority, len(got), got[0].Tickets[0].ID, countOf(got[0], "game"))
		}
		for _, m := range got {
			if countOf(m, "game") > 1 {
				t.Errorf("%q: two backfill tickets in a match", c.priority)
			}
			for _, team := range m.Teams {
				if n := len(team.Players); n < 21 || n > 25 {
					t.Errorf("%q: a team of %d", c.priority, n)
				}
				for _, p := range team.Players {
					if p.Team != "" && p.Team != team.Name {
						t.Errorf("%q: a player of %s is in %s now", c.priority, p.Team, team.Name)
					}
				}
			}
		}
	}
}

// A backfill ticket alone is not a match, even if it has enough players.
func TestLargeBackfillAloneIsNoMatch(t *testing.T) {
	pool := New(parse(t, largeRules("largestPopulation", "")), Options{})
	backfill := skilled("game", 0, 50, 44)
	backfill.Backfill = "game"
	for i := range backfill.Players {
		backfill.Players[i].Team = []string{"team_1", "team_2"}[i%2]
	}
	fill(t, pool, []Ticket{backfill})
	if got := pass(pool, at(1), 1); len(got) != 0 {
		t.Errorf("%d matches", len(got))
	}
	fill(t, pool, []Ticket{skilled("new", 1, 50, 1)})
	if got := pass(pool, at(2), 1); len(got) != 1 || got[0].MaxSize != 50 {
		t.Errorf("%d matches", len(got))
	}
}

// Batches of small matches with batchingPreference sorted (flexmatch.md 5) are sorted by numbers, strings and
// the first items of lists.
func TestBatchesAreSorted(t *testing.T) {
	for _, by := range []string{"number", "text", "list"} {
		set := parse(t, `{"ruleLanguageVersion":"1.0","algorithm":{"strategy":"exhaustiveSearch","batchingPreference":"sorted","sortByAttributes":["map","`+by+`","number"]},
			"playerAttributes":[{"name":"number","type":"number"},{"name":"text","type":"string"},{"name":"list","type":"string_list"},{"name":"map","type":"string_number_map"}],
			"teams":[{"name":"a","minPlayers":2,"maxPlayers":2}]}`)
		pool := New(set, Options{})
		for i := range 1000 {
			n := float64(i * 7 % 1000)
			fill(t, pool, []Ticket{{ID: fmt.Sprint(i), Start: at(0), Players: []Player{{ID: fmt.Sprint(i), Attributes: map[string]ruleset.Value{
				"number": {Type: ruleset.Number, N: n}, "map": {Type: ruleset.StringNumberMap, SDM: map[string]float64{"a": float64(i)}},
				"text": {Type: ruleset.String, S: fmt.Sprint(9 - int(n)/100)}, "list": {Type: ruleset.StringList, SL: []string{fmt.Sprint(int(n) / 500), fmt.Sprint(i % 7)}},
			}}}}})
		}
		s := pool.Begin(at(1), 1)
		if len(s.batches) != 4 {
			t.Fatalf("%d batches", len(s.batches))
		}
		key := func(e *entry) string {
			n := fmt.Sprintf("%03.0f", e.values[0][0].N)
			return map[string]string{"number": n, "text": e.values[0][1].S + n, "list": e.values[0][2].SL[0] + n}[by]
		}
		last := ""
		for _, batch := range s.batches {
			for _, e := range batch {
				if k := key(e); k < last {
					t.Fatalf("%s: %s comes after %s", by, k, last)
				} else {
					last = k
				}
			}
		}
	}
}

// FM-15 for large matches: the maxLatency at each ticket's own age determines the locations it can use.
func TestLargeLatencyExpands(t *testing.T) {
	body := strings.TrimSuffix(largeRules("fastestRegion", "", largeLatency), "}") + `,"expansions":[{"target":"rules[Fast].maxLatency","steps":[{"waitTimeSeconds":20,"value":200}]}]}`
	pool := New(parse(t, body), Options{})
	fill(t, pool, singles("a", 50, 0, alike, map[string]int{"eu": 150}))
	for _, c := range []struct {
		after   time.Duration
		matches int
	}{{19 * time.Second, 0}, {20 * time.Second, 1}} {
		if got := pass(pool, epoch.Add(c.after), 1); len(got) != c.matches {
			t.Errorf("after %v: %d matches", c.after, len(got))
		}
	}
}
