package match

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"troupe/actors/actorstest/assert"
	"troupe/actors/matchmaker/ruleset"
)

// bruteRule is a rule of the language with an independent implementation of its meaning.
type bruteRule struct {
	text  string // contains %v for the value of the stage
	name  string
	value func(stage int) float64
	holds func(b *brute, c bruteMatch, v float64) bool
}

// brute is a small pool and a matcher that tries every possibility.
type brute struct {
	rules    []bruteRule
	low      []int // minimum number of players, by team
	high     []int
	oldest   bool
	priority string
	sort     int // index in bruteSorts
	now      float64
	steps    []float64 // wait times of the expansions
	tickets  []vectorTicket
}

// bruteMatch maps each ticket to its team; -1 means none.
type bruteMatch struct {
	team    map[int]int
	players [][]bruteSeat
}

type bruteSeat struct {
	ticket int
	vectorPlayer
}

func (b *brute) mean(ticket int) float64 {
	sum := 0.0
	for _, p := range b.tickets[ticket].Players {
		sum += p.Attrs["skill"].(float64)
	}
	return sum / float64(len(b.tickets[ticket].Players))
}

func (c bruteMatch) all() []bruteSeat { return slices.Concat(c.players...) }

func has(v any, s string) bool {
	return slices.Contains(v.([]any), any(s))
}

func (b *brute) stage(c bruteMatch) int {
	reference := math.Inf(1)
	if b.oldest {
		reference = math.Inf(-1)
	}
	for ticket := range c.team {
		age := b.now - b.tickets[ticket].Start
		if b.oldest {
			reference = max(reference, age)
		} else {
			reference = min(reference, age)
		}
	}
	stage := 0
	for i, wait := range b.steps {
		if reference >= wait {
			stage = i + 1
		}
	}
	return stage
}

func (b *brute) legal(c bruteMatch) bool {
	backfills := 0
	for ticket := range c.team {
		if b.tickets[ticket].Backfill != "" {
			backfills++
		}
	}
	if backfills > 1 || backfills == 1 && len(c.team) == 1 {
		return false
	}
	for ticket := range c.team {
		all := 0
		for t := range c.players {
			all += len(c.players[t])
		}
		if r := b.tickets[ticket]; r.Backfill != "" && r.Room > 0 && all > len(r.Players)+r.Room {
			return false
		}
	}
	for t := range c.players {
		if n := len(c.players[t]); n < b.low[t] || n > b.high[t] {
			return false
		}
	}
	for _, r := range b.rules {
		if !r.holds(b, c, r.value(b.stage(c))) {
			return false
		}
	}
	return true
}

// order returns the remaining tickets in the order of anchors.
func (b *brute) order(gone map[int]bool) []int {
	var out []int
	for i := range b.tickets {
		if !gone[i] {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(x, y int) int {
		if p, q := b.tickets[x].Backfill != "", b.tickets[y].Backfill != ""; p != q && b.priority != "normal" {
			if p == (b.priority == "high") {
				return -1
			}
			return 1
		}
		return int(1000 * (b.tickets[x].Start - b.tickets[y].Start))
	})
	return out
}

// best tries all sets that contain the anchor, with all assignments to teams. It returns the positions of the
// best set in order, or nil.
func (b *brute) best(anchor int, order []int) (best []int) {
	var others []int
	for _, i := range order {
		if i == anchor || b.priority == "low" && b.tickets[i].Backfill != "" && b.tickets[anchor].Backfill == "" {
			continue
		}
		others = append(others, i)
	}
	slices.SortStableFunc(others, func(x, y int) int {
		if p, q := b.tickets[x].Backfill != "", b.tickets[y].Backfill != ""; p != q && b.priority == "high" {
			if p {
				return -1
			}
			return 1
		}
		key := bruteSorts[b.sort].key
		return cmp.Or(cmp.Compare(key(b, anchor, x), key(b, anchor, y)), cmp.Compare(b.tickets[x].Start, b.tickets[y].Start), cmp.Compare(x, y))
	})
	most := 0
	for subset := range 1 << len(others) {
		set, players := []int{anchor}, len(b.tickets[anchor].Players)
		for i, ticket := range others {
			if subset>>i&1 == 1 {
				set = append(set, ticket)
				players += len(b.tickets[ticket].Players)
			}
		}
		position := func(s []int) []int {
			var out []int
			for _, ticket := range s[1:] {
				out = append(out, slices.Index(others, ticket))
			}
			return out
		}
		if players < most || players == most && slices.Compare(position(set), position(best)) >= 0 {
			continue
		}
		if b.assign(bruteMatch{map[int]int{}, make([][]bruteSeat, len(b.low))}, set) {
			most, best = players, set
		}
	}
	return best
}

func (b *brute) assign(c bruteMatch, rest []int) bool {
	if len(rest) == 0 {
		return b.legal(c)
	}
	ticket := b.tickets[rest[0]]
	c.team[rest[0]] = 0
	defer delete(c.team, rest[0])
	for t := range b.low {
		next := bruteMatch{c.team, slices.Clone(c.players)}
		for _, p := range ticket.Players {
			to := t
			if ticket.Backfill != "" {
				to = int(p.Team[2] - '1')
			}
			next.players[to] = append(slices.Clone(next.players[to]), bruteSeat{rest[0], p})
		}
		if b.assign(next, rest[1:]) {
			return true
		}
	}
	return false
}

// pass returns the matches of a pass, each as a list of ticket IDs.
func (b *brute) pass() (all [][]string) {
	gone := map[int]bool{}
	for _, anchor := range b.order(gone) {
		if gone[anchor] {
			continue
		}
		set := b.best(anchor, b.order(gone))
		if set == nil {
			continue
		}
		var names []string
		for _, i := range set {
			gone[i] = true
			names = append(names, b.tickets[i].ID)
		}
		slices.Sort(names)
		all = append(all, names)
	}
	return all
}

// body returns the rule set as JSON.
func (b *brute) body(low, high int, teams int, expanded bool) string {
	var rules, expansions []string
	for _, r := range b.rules {
		rules = append(rules, fmt.Sprintf(r.text, r.value(0)))
		if expanded {
			expansions = append(expansions, fmt.Sprintf(`{"target":"rules[%s].%s","steps":[{"waitTimeSeconds":%v,"value":%v},{"waitTimeSeconds":%v,"value":%v}]}`,
				strings.Split(r.name, ".")[0], strings.Split(r.name, ".")[1], b.steps[0], r.value(1), b.steps[1], r.value(2)))
		}
	}
	if text := bruteSorts[b.sort].text; text != "" {
		rules = append(rules, text)
	}
	age := ruleset.Newest
	if b.oldest {
		age = ruleset.Oldest
	}
	return fmt.Sprintf(`{"ruleLanguageVersion":"1.0","algorithm":{"expansionAgeSelection":%q,"backfillPriority":%q},
		"playerAttributes":[{"name":"skill","type":"number"},{"name":"roles","type":"string_list"},
			{"name":"likes","type":"string_list"},{"name":"modes","type":"string_number_map"}],
		"teams":[{"name":"t","minPlayers":%d,"maxPlayers":%d,"quantity":%d}],"rules":[%s],"expansions":[%s]}`,
		age, b.priority, low, high, teams, strings.Join(rules, ","), strings.Join(expansions, ","))
}

// FM-5, FM-11, FM-15, FM-19, FM-20: in small pools, a pass forms exactly the matches that the specification
// prefers among all legal ones. The reference implementation tries all sets and all teams, and has its own
// implementation of the rules.
func TestSmallPoolsMatchAsBruteForceDoes(t *testing.T) {
	for range 3 {
		rapid.Check(t, testAgainstBruteForce)
	}
}

func testAgainstBruteForce(t *rapid.T) {
	b := &brute{oldest: rapid.Bool().Draw(t, "oldest"), now: 60, priority: rapid.SampledFrom([]string{"normal", "high", "low"}).Draw(t, "priority")}
	for _, r := range bruteRules {
		if rapid.IntRange(0, 3).Draw(t, r.name) == 0 {
			b.rules = append(b.rules, r)
		}
	}
	b.sort = rapid.IntRange(0, len(bruteSorts)-1).Draw(t, "sort")
	if len(b.rules) > 0 && rapid.Bool().Draw(t, "expanded") {
		b.steps = []float64{10, 30}
	}
	low, high, teams := rapid.IntRange(0, 2).Draw(t, "min"), rapid.IntRange(2, 3).Draw(t, "max"), 2
	for range teams {
		b.low, b.high = append(b.low, low), append(b.high, high)
	}
	roles := [][]any{{"medic"}, {"tank"}, {"scout", "medic"}, {"tank", "scout"}, {"medic", "tank", "scout"}}
	modes := []map[string]any{{"ctf": 1.0}, {"dm": 2.0, "ctf": 1.0}, {"dm": 1.0, "ctf": 3.0}, {"dm": 2.0}}
	for i := range rapid.IntRange(1, 7).Draw(t, "tickets") {
		ticket := vectorTicket{ID: fmt.Sprintf("T%d", i), Start: float64(rapid.IntRange(0, 60).Draw(t, "start"))}
		if rapid.IntRange(0, 5).Draw(t, "backfill") == 0 {
			ticket.Backfill, ticket.Room = "GS", rapid.IntRange(0, 3).Draw(t, "room")
		}
		for j := range rapid.IntRange(1, 2).Draw(t, "players") {
			p := vectorPlayer{ID: fmt.Sprintf("%s-%d", ticket.ID, j), Lat: map[string]int{}, Attrs: map[string]any{
				"skill": float64(rapid.IntRange(0, 40).Draw(t, "skill")), "roles": rapid.SampledFrom(roles).Draw(t, "roles"),
				"likes": rapid.SampledFrom(roles).Draw(t, "likes"), "modes": rapid.SampledFrom(modes).Draw(t, "modes"),
			}}
			for _, location := range []string{"eu", "us"} {
				if rapid.IntRange(0, 3).Draw(t, "reports") > 0 {
					p.Lat[location] = rapid.IntRange(20, 90).Draw(t, "ms")
				}
			}
			p.Team = fmt.Sprintf("t_%d", rapid.IntRange(1, teams).Draw(t, "team"))
			ticket.Players = append(ticket.Players, p)
		}
		b.tickets = append(b.tickets, ticket)
	}
	body := b.body(low, high, teams, b.steps != nil)
	set, err := ruleset.Parse(body, ruleset.Options{})
	if err != nil {
		t.Fatal(err, body)
	}
	pool := New(set, Options{})
	for _, ticket := range b.tickets {
		assert.NoError(t, pool.Add(ticket.ticket()))
	}
	var got [][]string
	matches := pass(pool, at(b.now), 1)
	for _, m := range matches {
		got = append(got, ids(m.Tickets))
		b.checkTeams(t, m)
	}
	if want := b.pass(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("matches %v, want %v\n%s\n%+v", got, want, body, b.tickets)
	}
}

// checkTeams checks that the teams of a match are legal.
func (b *brute) checkTeams(t *rapid.T, m Match) {
	c := bruteMatch{map[int]int{}, make([][]bruteSeat, len(b.low))}
	for i, team := range m.Teams {
		for _, p := range team.Players {
			ticket := slices.IndexFunc(b.tickets, func(v vectorTicket) bool { return strings.HasPrefix(p.ID, v.ID+"-") })
			who := b.tickets[ticket].Players[slices.IndexFunc(b.tickets[ticket].Players, func(v vectorPlayer) bool { return v.ID == p.ID })]
			if before, ok := c.team[ticket]; ok && before != i && b.tickets[ticket].Backfill == "" {
				t.Fatalf("the party %s is split", b.tickets[ticket].ID)
			}
			c.team[ticket] = i
			c.players[i] = append(c.players[i], bruteSeat{ticket, who})
		}
	}
	if !b.legal(c) {
		t.Fatalf("the match %v is not legal", ids(m.Tickets))
	}
}
