package match

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/matchmaker/ruleset"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return epoch.Add(time.Duration(seconds * float64(time.Second))) }

type vectorPlayer struct {
	ID    string         `json:"id"`
	Attrs map[string]any `json:"attrs"`
	Lat   map[string]int `json:"lat"`
	Team  string         `json:"team"`
}

type vectorTicket struct {
	ID       string         `json:"id"`
	Start    float64        `json:"start"`
	Backfill string         `json:"backfill"`
	Room     int            `json:"room"`
	Players  []vectorPlayer `json:"players"`
}

type vectorMatch struct {
	Tickets []string            `json:"tickets"`
	Teams   map[string][]string `json:"teams"`
	Groups  [][]string          `json:"groups"`
	Sizes   map[string]int      `json:"sizes"`
}

type vector struct {
	ID      string          `json:"id"`
	RuleSet json.RawMessage `json:"ruleSet"`
	Tickets []vectorTicket  `json:"tickets"`
	Passes  []struct {
		At      float64       `json:"at"`
		Matches []vectorMatch `json:"matches"`
	} `json:"passes"`
	Left []string `json:"left"`
}

// attribute converts a JSON value to an attribute value.
func attribute(v any) ruleset.Value {
	switch v := v.(type) {
	case string:
		return ruleset.Value{Type: ruleset.String, S: v}
	case float64:
		return ruleset.Value{Type: ruleset.Number, N: v}
	case []any:
		out := ruleset.Value{Type: ruleset.StringList}
		for _, s := range v {
			out.SL = append(out.SL, s.(string))
		}
		return out
	case map[string]any:
		out := ruleset.Value{Type: ruleset.StringNumberMap, SDM: map[string]float64{}}
		for k, n := range v {
			out.SDM[k] = n.(float64)
		}
		return out
	}
	panic(fmt.Sprint("no attribute: ", v))
}

func (t vectorTicket) ticket() Ticket {
	out := Ticket{ID: t.ID, Start: at(t.Start), Backfill: t.Backfill, Room: t.Room}
	for _, p := range t.Players {
		player := Player{ID: p.ID, Latencies: p.Lat, Team: p.Team, Attributes: map[string]ruleset.Value{}}
		for name, v := range p.Attrs {
			player.Attributes[name] = attribute(v)
		}
		out.Players = append(out.Players, player)
	}
	return out
}

func parse(t testing.TB, body string) *ruleset.RuleSet {
	t.Helper()
	return assert.Value(ruleset.Parse(body, ruleset.Options{}))(t)
}

// pass runs a complete pass.
func pass(p *Pool, now time.Time, seed uint64) []Match {
	s := p.Begin(now, seed)
	for !s.Step(1000) {
	}
	return s.Take()
}

func ids(tickets []*Ticket) []string {
	var all []string
	for _, t := range tickets {
		all = append(all, t.ID)
	}
	slices.Sort(all)
	return all
}

func playersOf(t Team) []string {
	var all []string
	for _, p := range t.Players {
		all = append(all, p.ID)
	}
	slices.Sort(all)
	return all
}

// FM-5, and thereby FM-12 (V09), FM-14 (V17), FM-15 (V04 to V06), FM-16 (V07), FM-17 (V28), FM-18 (V22, V23),
// FM-19 (V24), FM-20 (V25 to V27): the vectors of testdata/vectors.md.
func TestVectors(t *testing.T) {
	text := assert.Value(os.ReadFile("testdata/vectors.md"))(t)
	blocks := strings.Split(string(text), "```json vector\n")[1:]
	if len(blocks) < 30 {
		t.Fatalf("%d vectors", len(blocks))
	}
	for _, b := range blocks {
		b, _, _ = strings.Cut(b, "```")
		var v vector
		assert.NoError(t, json.Unmarshal([]byte(b), &v))
		t.Run(v.ID, func(t *testing.T) { v.run(t) })
	}
}

func (v vector) run(t *testing.T) {
	pool := New(parse(t, string(v.RuleSet)), Options{})
	added := map[string]bool{}
	for _, p := range v.Passes {
		for _, ticket := range v.Tickets {
			if ticket.Start <= p.At && !added[ticket.ID] {
				added[ticket.ID] = true
				assert.NoError(t, pool.Add(ticket.ticket()))
			}
		}
		got := pass(pool, at(p.At), 1)
		if len(got) != len(p.Matches) {
			t.Fatalf("at %v: %d matches, want %d", p.At, len(got), len(p.Matches))
		}
		for i, want := range p.Matches {
			compareMatch(t, got[i], want)
		}
	}
	if v.Left != nil {
		slices.Sort(v.Left)
		if left := ids(pool.Tickets()); !reflect.DeepEqual(left, v.Left) {
			t.Errorf("left %v, want %v", left, v.Left)
		}
	}
}

func compareMatch(t *testing.T, got Match, want vectorMatch) {
	t.Helper()
	slices.Sort(want.Tickets)
	if !reflect.DeepEqual(ids(got.Tickets), want.Tickets) {
		t.Errorf("tickets %v, want %v", ids(got.Tickets), want.Tickets)
	}
	groups := map[string]bool{}
	for _, team := range got.Teams {
		players := playersOf(team)
		groups[fmt.Sprint(players)] = true
		if names, ok := want.Teams[team.Name]; ok {
			slices.Sort(names)
			if !reflect.DeepEqual(players, names) {
				t.Errorf("team %s is %v, want %v", team.Name, players, names)
			}
		}
		if n, ok := want.Sizes[team.Name]; ok && n != len(players) {
			t.Errorf("team %s has %d players, want %d", team.Name, len(players), n)
		}
	}
	for _, g := range want.Groups {
		slices.Sort(g)
		if !groups[fmt.Sprint(g)] {
			t.Errorf("no team is %v", g)
		}
	}
}

// Teams are filled in the specified order.
func TestTeamsFillInOrder(t *testing.T) {
	small := []ruleset.Team{{Name: "Red", Min: 5, Max: 10}, {Name: "Blue", Min: 5, Max: 10}, {Name: "Green", Min: 2, Max: 3}}
	large := []ruleset.Team{{Name: "Monsters", Min: 5, Max: 5}}
	for range 10 {
		large = append(large, ruleset.Team{Name: "Hunters", Min: 12, Max: 15})
	}
	hunters := func(monsters, each int) []int { return append([]int{monsters}, slices.Repeat([]int{each}, 10)...) }
	for _, c := range []struct {
		teams   []ruleset.Team
		players int
		want    []int
	}{
		{small, 10, []int{5, 5, 0}}, {small, 12, []int{5, 5, 2}}, {small, 20, []int{9, 9, 2}}, {small, 23, []int{10, 10, 3}},
		{large, 100, hunters(0, 10)}, {large, 122, hunters(2, 12)}, {large, 125, hunters(5, 12)}, {large, 155, hunters(5, 15)},
	} {
		seats := make([][]seat, len(c.teams))
		for range c.players {
			to := fillOrder(nil, c.teams, seats, 1)[0]
			seats[to] = append(seats[to], seat{})
		}
		var got []int
		for _, s := range seats {
			got = append(got, len(s))
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("after %d players %v, want %v", c.players, got, c.want)
		}
	}
}
