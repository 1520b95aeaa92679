package match

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// The sets of a full batch contain the same candidates as a check of each pair of tickets, whatever the order
// of candidates is.
func TestSetsHaveTheCandidatesOfPairs(t *testing.T) {
	for _, sorted := range []string{``, `,{"name":"Close","type":"distanceSort","sortDirection":"ascending","sortAttribute":"skill"}`} {
		set := parse(t, strings.Replace(fmt.Sprintf(benchRules, 100, 200, 300), `"maxLatency":80}`, `"maxLatency":80}`+sorted, 1))
		pool := New(set, Options{})
		tickets := population(BatchSize, 5)
		for i := range tickets {
			if i%10 == 3 { // some players have two tickets
				tickets[i].Players[0].ID = tickets[i-3].Players[0].ID
			}
			if i%25 == 7 {
				tickets[i].Backfill = "game"
				for j := range tickets[i].Players {
					tickets[i].Players[j].Team = "team_1"
				}
			}
		}
		fill(t, pool, tickets)
		s := pool.Begin(at(60), 1)
		s.prepare(s.batches[0])
		for i := 0; i < BatchSize; i += 9 {
			pool.Remove(tickets[i].ID)
		}
		s.batch.live(pool)
		found := 0
		for _, a := range slices.Clone(s.batch.anchors) {
			s.search.order(a)
			if !slices.IsSortedFunc(s.batch.order, func(x, y *entry) int {
				if sorted == `` {
					return byAge(x, y)
				}
				return int(math.Abs(x.numbers[0][0]-a.numbers[0][0])) - int(math.Abs(y.numbers[0][0]-a.numbers[0][0]))
			}) {
				t.Fatal("the candidates are not in order")
			}
			got := s.search.candidates(a)
			players := 0
			for i, e := range s.batch.order {
				want := e != a && !e.gone && (!a.backfill || !e.backfill) && pair(pool, a, e)
				if got.has(i) != want {
					t.Fatalf("%s and %s: %v, want %v", a.ticket.ID, e.ticket.ID, got.has(i), want)
				}
				if want {
					players += e.n
					found++
				}
			}
			if n := s.batch.players(&got); n != players {
				t.Fatalf("%d players, want %d", n, players)
			}
		}
		if found < 1000 {
			t.Errorf("%d candidates: the test says little", found)
		}
	}
}

// pair reports whether the cheap rules allow two tickets in the same match.
func pair(p *Pool, a, b *entry) bool {
	at := &p.plans[p.younger(a.stage, b.stage)]
	if a.n+b.n > at.maxTotal || a.mask&b.mask == 0 {
		return false
	}
	for i := range at.ranges {
		if math.Abs(a.keys[i]-b.keys[i]) > at.ranges[i].max {
			return false
		}
	}
	return !sharesPlayer(a, b)
}

// A pass that has spent its budget continues in the next passes. Together they form the same matches as a
// pass without a budget.
func TestCutPassesMakeTheMatchesOfOne(t *testing.T) {
	large := `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
		"algorithm":{"strategy":"balanced","balancedAttribute":"skill","batchingPreference":"fastestRegion"},
		"teams":[{"name":"team","minPlayers":20,"maxPlayers":30,"quantity":2}],"rules":[{"name":"Fast","type":"latency","maxLatency":100},
		{"name":"League","type":"batchDistance","batchAttribute":"skill","maxDistance":200}]}`
	for name, c := range map[string]struct {
		rules   string
		tickets int
		budget  int
		most    int // maximum number of evaluations by which the last search may exceed the budget
	}{"small": {fmt.Sprintf(benchRules, 100, 200, 400), 2000, 5000, anchorBudget}, "large": {large, 3000, 5000, 10_000}} {
		t.Run(name, func(t *testing.T) {
			var want [][]string
			for _, budget := range []int{math.MaxInt, c.budget} {
				pool := New(parse(t, c.rules), Options{Budget: budget})
				fill(t, pool, population(c.tickets, 3))
				var got [][]string
				passes := 0
				for done := false; !done; passes++ {
					s := pool.Begin(at(60), 1)
					for !s.Step(500) {
					}
					for _, m := range s.Take() {
						got = append(got, ids(m.Tickets))
					}
					if over := s.Evaluations() - c.budget; budget == c.budget && over > c.most {
						t.Fatalf("a pass makes %d evaluations more than its budget", over)
					}
					done = !s.Cut()
				}
				if want == nil {
					want = got
					continue
				}
				if passes < 5 || len(want) < 5 || !reflect.DeepEqual(got, want) {
					t.Errorf("%d passes make %d matches, or other ones; one pass makes %d", passes, len(got), len(want))
				}
			}
		})
	}
}

// Tickets that arrive while a cut pass continues are in the next pass that begins after it is complete.
// Expansions still take effect meanwhile.
func TestTicketsThatComeToACutPass(t *testing.T) {
	pool := New(parse(t, skillRule), Options{Budget: 1000})
	for i := range 2000 {
		fill(t, pool, []Ticket{skilled(fmt.Sprint(i), 0, 20*float64(i), 1)})
	}
	s := pool.Begin(at(1), 1)
	for !s.Step(1000) {
	}
	if len(s.Take()) != 0 || !s.Cut() {
		t.Fatal("the pass is complete, or has matches")
	}
	fill(t, pool, []Ticket{skilled("late", 1, 1e6, 1), skilled("later", 1, 1e6, 1)})
	found := map[string]bool{}
	for pass := 1; pass < 40 && !found["late"]; pass++ {
		s := pool.Begin(at(30+float64(pass)), 1)
		for !s.Step(1000) {
		}
		for _, m := range s.Take() {
			found[m.Tickets[0].ID] = true
		}
	}
	if !found["late"] || len(found) < 500 {
		t.Errorf("%d matches, and the late ones: %v", len(found), found["late"])
	}
}

// In pools in which nothing matches, a pass costs at most its budget, whatever the rules are.
func TestPoisonedPoolsCostTheBudget(t *testing.T) {
	const attributes = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"},{"name":"mode","type":"string"}],`
	for name, body := range map[string]string{
		"sums": attributes + `"teams":[{"name":"a","minPlayers":10,"maxPlayers":10,"quantity":2}],
			"rules":[{"name":"Sum","type":"comparison","measurements":["sum(teams[*].players.attributes[skill])"],"operation":"=","referenceValue":0.5}]}`,
		"many small groups, each to be exact": attributes + `"teams":[{"name":"a","minPlayers":2,"maxPlayers":4,"quantity":3}],
			"rules":[{"name":"Mode","type":"batchDistance","batchAttribute":"mode"},
			{"name":"Sum","type":"comparison","measurements":["sum(teams[*].players.attributes[skill])"],"operation":"=","referenceValue":0.5}]}`,
		"a compound rule of 5,000 members": attributes + `"teams":[{"name":"a","minPlayers":4,"maxPlayers":4}],
			"rules":[{"name":"A","type":"comparison","measurements":["sum(teams[*].players.attributes[skill])"],"operation":"!=","referenceValue":0.5},
			{"name":"C","type":"compound","statement":"not(and(A` + strings.Repeat(",A", 5000) + `))"}]}`,
		"large matches": attributes + `"algorithm":{"strategy":"balanced","balancedAttribute":"skill"},"teams":[{"name":"a","minPlayers":70,"maxPlayers":100,"quantity":2}],
			"rules":[{"name":"League","type":"batchDistance","batchAttribute":"skill","maxDistance":100},{"name":"Again","type":"batchDistance","batchAttribute":"skill","maxDistance":1}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			pool := New(parse(t, body), Options{})
			for i, ticket := range population(3000, 1) {
				for _, p := range ticket.Players {
					p.Attributes["mode"] = attribute(fmt.Sprint(i % 250))
				}
				fill(t, pool, []Ticket{ticket})
			}
			passes := 5
			if testing.Short() {
				passes = 2
			}
			for pass := range passes {
				s := pool.Begin(at(60+float64(pass)), uint64(pass))
				for !s.Step(20_000) {
				}
				if n := s.Evaluations(); n > PassBudget+anchorBudget || len(s.Take()) != 0 {
					t.Errorf("%d evaluations, or a match", n)
				}
			}
		})
	}
}
