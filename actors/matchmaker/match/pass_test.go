package match

import (
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/matchmaker/ruleset"
)

func fill(t testing.TB, p *Pool, tickets []Ticket) {
	t.Helper()
	for _, ticket := range tickets {
		assert.NoError(t, p.Add(ticket))
	}
}

// FM-5: equal seeds give equal results, whatever the size of the slices is. A ticket is in at most one match.
func TestPassesAreDeterministic(t *testing.T) {
	set := parse(t, fmt.Sprintf(benchRules, 200, 400, 800))
	tickets := population(600, 7)
	var want [][]string
	for _, slice := range []int{1, 100, 1 << 30} {
		pool := New(set, Options{})
		fill(t, pool, tickets)
		s := pool.Begin(at(60), 3)
		for !s.Step(slice) {
		}
		var got [][]string
		seen := map[string]bool{}
		for _, m := range s.Take() {
			for _, id := range ids(m.Tickets) {
				if seen[id] {
					t.Fatalf("%s is in two matches", id)
				}
				seen[id] = true
			}
			got = append(got, ids(m.Tickets))
		}
		if len(got) < 30 || pool.Len() != len(tickets)-len(seen) {
			t.Fatalf("%d matches, %d tickets left of %d", len(got), pool.Len(), len(tickets))
		}
		if want == nil {
			want = got
		} else if !reflect.DeepEqual(got, want) {
			t.Errorf("slices of %d give other matches", slice)
		}
	}
}

// A pass skips tickets that leave while it runs, and does not examine tickets that arrive.
func TestPoolMayChangeDuringAPass(t *testing.T) {
	pool := New(parse(t, `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":2,"maxPlayers":2}]}`), Options{})
	for i := range 600 {
		fill(t, pool, []Ticket{{ID: fmt.Sprint(i), Start: at(float64(i)), Players: []Player{{ID: fmt.Sprint(i)}}}})
	}
	s := pool.Begin(at(1000), 1)
	s.Step(1)
	left := pool.Tickets()
	for _, ticket := range left[:len(left)/2] {
		pool.Remove(ticket.ID)
	}
	fill(t, pool, []Ticket{{ID: "late", Start: at(0), Players: []Player{{ID: "late"}}}})
	for !s.Step(10) {
	}
	if n := pool.Len(); n > 4 || pool.byID["late"] == nil {
		t.Errorf("%d tickets left, want the late one and at most one for each batch", n)
	}
}

// The work of a pass is limited, whatever the pool is. Here nothing matches, but almost everything nearly
// does.
func TestPoisonedPoolCostsItsBound(t *testing.T) {
	set := parse(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],"teams":[{"name":"a","minPlayers":10,"maxPlayers":10,"quantity":2}],
		"rules":[{"name":"Sum","type":"comparison","measurements":["sum(teams[*].players.attributes[skill])"],"operation":"=","referenceValue":0.5}]}`)
	pool := New(set, Options{})
	fill(t, pool, population(1000, 1))
	s := pool.Begin(at(60), 1)
	for !s.Step(20_000) {
	}
	if most := fruitless + anchorBudget*4 + 1000*2*fewest; s.Evaluations() > most || len(s.Take()) != 0 {
		t.Errorf("%d evaluations, want %d at most, and no match", s.Evaluations(), most)
	}
}

func skilled(id string, start, skill float64, players int) Ticket {
	ticket := Ticket{ID: id, Start: at(start)}
	for i := range players {
		ticket.Players = append(ticket.Players, Player{ID: fmt.Sprint(id, i), Attributes: map[string]ruleset.Value{"skill": {Type: ruleset.Number, N: skill}}, Latencies: map[string]int{"eu": 40}})
	}
	return ticket
}

const skillRule = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],"teams":[{"name":"a","minPlayers":2,"maxPlayers":2}],
	"rules":[{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":5}],
	"expansions":[{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":30,"value":50}]}]}`

func TestExplainSaysWhichRuleKeepsWhomAndWhatChangesNext(t *testing.T) {
	pool := New(parse(t, skillRule), Options{})
	fill(t, pool, []Ticket{skilled("me", 0, 50, 1), skilled("far", 1, 90, 1), skilled("close", 2, 52, 1), skilled("party", 3, 50, 3)})
	got, ok := pool.Explain("me", at(10), math.MaxInt)
	want := Explanation{
		Age: 10 * time.Second, Others: 3, Sampled: 3, Compatible: 1, Players: 2, Needed: 2,
		Blocked: []Blocked{{"Near", 1, "far"}, {"(it matches nobody)", 1, "party"}},
		Next:    []ruleset.Change{{Target: "rules[Near].maxDistance", At: 30 * time.Second, From: "5", To: "50"}}, NextIn: 20 * time.Second,
	}
	if !ok || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if got, _ := pool.Explain("party", at(10), math.MaxInt); got.Never == "" {
		t.Error("the party is too large, and nothing says so")
	}
	if _, ok := pool.Explain("nobody", at(10), math.MaxInt); ok {
		t.Error("there is no such ticket")
	}
}

// The sample is limited in size, and spread over the whole pool.
func TestExplainLooksAtASample(t *testing.T) {
	pool := New(parse(t, skillRule), Options{})
	fill(t, pool, []Ticket{skilled("me", 0, 50, 1)})
	for i := range 5000 {
		fill(t, pool, []Ticket{skilled(fmt.Sprint(i), 1, []float64{50, 500}[i/2500], 1)})
	}
	got, ok := pool.Explain("me", at(10), 100)
	if !ok || got.Others != 5000 || got.Sampled < 90 || got.Sampled > 100 || got.Compatible < 45 || got.Compatible > 55 || got.Blocked[0].Tickets != got.Sampled-got.Compatible {
		t.Errorf("%+v", got)
	}
	if got, _ := pool.Explain("me", at(10), 0); got.Sampled != 0 {
		t.Errorf("%+v", got)
	}
}

// The estimate is the median of the last matched tickets that waited at least as long.
func TestEstimatedWait(t *testing.T) {
	var recent Recent
	if _, ok := recent.Estimate(at(0), 0); ok {
		t.Error("an estimate from nothing")
	}
	for i := range 600 { // waits of 1 s at first, of 1 to 20 s at the end
		wait := time.Second
		if i >= 400 {
			wait = time.Duration(1+i%20) * time.Second
		}
		recent.Add(at(float64(i)), wait)
	}
	for _, c := range []struct {
		now, age, want float64
		ok             bool
	}{{600, 0, 11, true}, {600, 10, 5, true}, {600, 30, 0, false}, {1300, 0, 0, false}} {
		if got, ok := recent.Estimate(at(c.now), time.Duration(c.age)*time.Second); ok != c.ok || got.Seconds() != c.want {
			t.Errorf("at %v, of age %v: %v, %v; want %v", c.now, c.age, got, ok, c.want)
		}
	}
}

// FM-40
func TestAttributesOfAnotherTypeAreRefused(t *testing.T) {
	pool := New(parse(t, skillRule), Options{})
	ticket := skilled("t", 0, 1, 1)
	ticket.Players[0].Attributes["skill"] = ruleset.Value{Type: ruleset.String, S: "high"}
	if err := pool.Add(ticket); err == nil || pool.Len() != 0 {
		t.Errorf("%v, and %d tickets", err, pool.Len())
	}
	assert.Equal(t, "add", pool.Add(Ticket{ID: "empty"}).Error(), "a ticket needs a player")
	ticket = skilled("t", 0, 1, 1)
	fill(t, pool, []Ticket{ticket})
	assert.Equal(t, "add", pool.Add(ticket).Error(), "the pool has a ticket with this id")
}

// FM-21
func TestAdditionalPlayersStayFree(t *testing.T) {
	pool := New(parse(t, `{"ruleLanguageVersion":"1.0","teams":[{"name":"a","minPlayers":1,"maxPlayers":4}]}`), Options{AdditionalPlayers: 1})
	for i := range 4 {
		fill(t, pool, []Ticket{{ID: fmt.Sprint(i), Start: at(0), Players: []Player{{ID: fmt.Sprint(i)}}}})
	}
	got := pass(pool, at(1), 1)
	if len(got) != 2 || len(got[0].Tickets) != 3 || got[0].MaxSize != 4 {
		t.Errorf("%d matches, the first with %d tickets, of %d seats; want 2, 3 and 4", len(got), len(got[0].Tickets), got[0].MaxSize)
	}
}

// Large matches (flexmatch.md 12): the fastest location comes first, teams have equal sizes and averages, and
// skills are as close as possible.
func TestLargeMatch(t *testing.T) {
	for _, batching := range []string{"largestPopulation", "fastestRegion"} {
		pool := New(parse(t, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
			"algorithm":{"strategy":"balanced","balancedAttribute":"skill","batchingPreference":"`+batching+`"},
			"teams":[{"name":"team","minPlayers":20,"maxPlayers":30,"quantity":2}],"rules":[{"name":"Fast","type":"latency","maxLatency":100},
			{"name":"League","type":"batchDistance","batchAttribute":"skill","maxDistance":900}]}`), Options{})
		fill(t, pool, population(300, 2))
		fill(t, pool, []Ticket{{ID: "silent", Start: at(0), Players: []Player{{ID: "silent", Attributes: map[string]ruleset.Value{"skill": {Type: ruleset.Number}}}}}})
		got := pass(pool, at(60), 1)
		if len(got) < 3 || pool.byID["silent"] == nil {
			t.Fatalf("%s: %d matches", batching, len(got))
		}
		for _, m := range got {
			low, high := 1e9, -1e9
			var means []float64
			for _, team := range m.Teams {
				sum := 0.0
				for _, p := range team.Players {
					sum += p.Attributes["skill"].N
				}
				if n := len(team.Players); n < 20 || n > 30 {
					t.Fatalf("%s: a team of %d", batching, n)
				}
				means = append(means, sum/float64(len(team.Players)))
			}
			for _, ticket := range m.Tickets {
				mean := 0.0
				for _, p := range ticket.Players {
					mean += p.Attributes["skill"].N / float64(len(ticket.Players))
				}
				low, high = min(low, mean), max(high, mean)
			}
			if d := means[0] - means[1]; max(d, -d) > 5 || high-low > 900+tolerance {
				t.Errorf("%s: averages %v, values from %v to %v", batching, means, low, high)
			}
		}
	}
}

// FM-10, FM-13, FM-17, FM-18: each row is a rule set, and whether it allows a match.
func TestRulesByExample(t *testing.T) {
	const head = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],"teams":[{"name":"a","minPlayers":0,"maxPlayers":2},{"name":"b","minPlayers":0,"maxPlayers":2}],"rules":[`
	for name, c := range map[string]struct {
		rules   string
		skills  []float64
		matches int
		size    int
	}{
		"FM-10 an empty team breaks nothing": {`{"name":"r","type":"comparison","measurements":["avg(teams[b].players.attributes[skill])"],"referenceValue":"avg(teams[a].players.attributes[skill])","operation":"<"}`, []float64{5}, 1, 1},
		"FM-11 one ticket is a match":        {``, []float64{5}, 1, 1},
		"FM-13 pairwise different":           {`{"name":"r","type":"comparison","measurements":["flatten(teams[*].players.attributes[skill])"],"operation":"!="}`, []float64{1, 2, 1}, 2, 2},
		"FM-17 members are not enforced": {`{"name":"A","type":"comparison","measurements":["count(flatten(teams[*].players))"],"operation":"=","referenceValue":3},
			{"name":"B","type":"comparison","measurements":["count(flatten(teams[*].players))"],"operation":"=","referenceValue":2},{"name":"C","type":"compound","statement":"xor(A, B)"}`, []float64{1, 2, 3, 4}, 1, 3},
		"FM-18 sort rules never reject": {`{"name":"r","type":"distanceSort","sortDirection":"descending","sortAttribute":"skill"},{"name":"s","type":"absoluteSort","sortDirection":"ascending","sortAttribute":"skill"}`, []float64{1, 100, 1000, 7}, 1, 4},
	} {
		pool := New(parse(t, head+c.rules+"]}"), Options{})
		for i, skill := range c.skills {
			fill(t, pool, []Ticket{skilled(fmt.Sprint(i), 0, skill, 1)})
		}
		if got := pass(pool, at(1), 1); len(got) != c.matches || len(got[0].Tickets) != c.size {
			t.Errorf("%s: %d matches, the first with %d tickets; want %d and %d", name, len(got), len(got[0].Tickets), c.matches, c.size)
		}
	}
}
