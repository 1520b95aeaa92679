package match

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"troupe/actors/matchmaker/ruleset"
)

// needy are rule sets whose rules require certain players, with the number of tickets for each.
var needy = []struct {
	name, rules string
	tickets     int
	party       int // maximum number of players of a ticket
	healers     int // number of healers among 100 players; negative as in needyTickets
}{
	{"a healer in each team, who come last", `"teams":[{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}],
		"rules":[{"name":"R","type":"collection","operation":"contains","measurements":["teams[*].players.attributes[role]"],"referenceValue":"healer","minCount":1}]}`, 24, 1, -4},
	{"three roles in each team", `"teams":[{"name":"t","minPlayers":4,"maxPlayers":4,"quantity":2}],
		"rules":[{"name":"H","type":"collection","operation":"contains","measurements":["teams[*].players.attributes[role]"],"referenceValue":"healer","minCount":1,"maxCount":1},
		{"name":"T","type":"collection","operation":"contains","measurements":["teams[*].players.attributes[role]"],"referenceValue":"tank","minCount":1}]}`, 40, 1, 15},
	{"a minimum average", `"teams":[{"name":"t","minPlayers":4,"maxPlayers":6,"quantity":2}],
		"rules":[{"name":"A","type":"comparison","operation":">=","measurements":["avg(flatten(teams[*].players.attributes[skill]))"],"referenceValue":65}]}`, 40, 1, 20},
	{"fair teams of parties", `"teams":[{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}],
		"rules":[{"name":"F","type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":2}]}`, 30, 3, 20},
	{"parties and healers", `"teams":[{"name":"t","minPlayers":4,"maxPlayers":6,"quantity":2}],
		"rules":[{"name":"R","type":"collection","operation":"contains","measurements":["teams[*].players.attributes[role]"],"referenceValue":"healer","minCount":2}]}`, 40, 3, 25},
	{"a common mode", `"teams":[{"name":"t","minPlayers":3,"maxPlayers":6,"quantity":2}],
		"rules":[{"name":"M","type":"collection","operation":"intersection","measurements":["flatten(teams[*].players.attributes[modes])"],"minCount":1},
		{"name":"R","type":"collection","operation":"contains","measurements":["flatten(teams[*].players.attributes[role])"],"referenceValue":"healer","minCount":2}]}`, 60, 1, 20},
	{"large teams by a compound rule", `"teams":[{"name":"t","minPlayers":10,"maxPlayers":20,"quantity":2}],
		"rules":[{"name":"Map","type":"comparison","operation":"=","measurements":["flatten(teams[*].players.attributes[map])"]},
		{"name":"R","type":"collection","operation":"contains","measurements":["teams[*].players.attributes[role]"],"referenceValue":"healer","minCount":1},
		{"name":"C","type":"compound","statement":"and(Map, R)"}]}`, 160, 2, 10},
	{"healers until an expansion", `"teams":[{"name":"t","minPlayers":5,"maxPlayers":5,"quantity":2}],
		"rules":[{"name":"R","type":"collection","operation":"contains","measurements":["teams[*].players.attributes[role]"],"referenceValue":"healer","minCount":2}],
		"expansions":[{"target":"rules[R].minCount","steps":[{"waitTimeSeconds":20,"value":1}]}]}`, 40, 1, 15},
}

const needyAttributes = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"role","type":"string"},{"name":"map","type":"string"},{"name":"skill","type":"number"},{"name":"modes","type":"string_list"}],`

// needyTickets creates n tickets. healers is the percentage of healers. If it is negative, the last -healers
// tickets are healers.
func needyTickets(n, party, healers int, seed uint64) []Ticket {
	rng := rand.New(rand.NewPCG(seed, 2))
	all := make([]Ticket, n)
	for i := range all {
		t := Ticket{ID: fmt.Sprint("t", i), Start: at(float64(i) / 2)}
		for j := range 1 + rng.IntN(party) {
			role := []string{"tank", "damage", "damage"}[rng.IntN(3)]
			if healers < 0 && i >= n+healers || healers > 0 && rng.IntN(100) < healers {
				role = "healer"
			}
			modes := []string{"ctf", "race", "brawl", "siege"}
			rng.Shuffle(4, func(a, b int) { modes[a], modes[b] = modes[b], modes[a] })
			t.Players = append(t.Players, Player{ID: fmt.Sprint("p", i, "-", j), Attributes: map[string]ruleset.Value{
				"role": {Type: ruleset.String, S: role}, "map": {Type: ruleset.String, S: []string{"desert", "ice"}[i%2]},
				"skill": {Type: ruleset.Number, N: float64(rng.IntN(100))}, "modes": {Type: ruleset.StringList, SL: modes[:1+rng.IntN(2)]},
			}})
		}
		all[i] = t
	}
	return all
}

// matchedBy runs one pass. It returns the number of matched players and the remaining tickets.
func matchedBy(t *testing.T, set *ruleset.RuleSet, tickets []Ticket, o Options) (n int, left []Ticket) {
	t.Helper()
	pool := New(set, o)
	fill(t, pool, tickets)
	s := pool.Begin(at(90), 1)
	for !s.Step(20_000) {
	}
	gone := map[string]bool{}
	for _, m := range s.Take() {
		for _, ticket := range m.Tickets {
			n += len(ticket.Players)
			gone[ticket.ID] = true
		}
	}
	for _, ticket := range tickets {
		if !gone[ticket.ID] {
			left = append(left, ticket)
		}
	}
	return n, left
}

// greedy returns the number of players matched by random sets of tickets that no rule rejects, with the
// number of evaluations of a pass.
func greedy(t *testing.T, set *ruleset.RuleSet, tickets []Ticket, seed uint64) (n int) {
	t.Helper()
	pool := New(set, Options{})
	fill(t, pool, tickets)
	s := pool.Begin(at(90), 1)
	rng := rand.New(rand.NewPCG(seed, 3))
	for i := range s.batches {
		s.prepare(s.batches[i])
		for _, a := range s.batch.anchors {
			if a.gone {
				continue
			}
			r := &repairing{s: &s.search, until: s.search.work + anchorBudget, c: candidate{teams: make([][]seat, len(set.Teams))}}
			s.search.limit = pool.plans[a.stage].maxTotal
			for _, e := range s.batch.anchors {
				if e != a && !e.gone {
					r.others = append(r.others, e)
				}
			}
			for round := 0; s.search.work < min(r.until, PassBudget); round++ {
				rng.Shuffle(len(r.others), func(i, j int) { r.others[i], r.others[j] = r.others[j], r.others[i] })
				r.spend(len(r.others) / 4)
				if r.gather(a, round%2 == 0) && r.gap() == 0 {
					s.emit(r.c.tickets, r.c.teams, r.stage, nil)
					n += countPlayers(r.c.tickets)
					break
				}
			}
		}
	}
	return n
}

// Among the tickets that a pass leaves, a random search with the same number of evaluations finds no match.
// Repair does not reduce the number of matched players.
func TestRulesThatNeedSomebody(t *testing.T) {
	seeds := 5
	if testing.Short() {
		seeds = 1 // one population of each kind
	}
	for _, c := range needy {
		set := parse(t, needyAttributes+c.rules)
		for seed := range uint64(seeds) {
			tickets := needyTickets(c.tickets, c.party, c.healers, seed)
			without, _ := matchedBy(t, set, tickets, Options{noRepair: true})
			got, left := matchedBy(t, set, tickets, Options{})
			more := greedy(t, set, left, seed)
			what := fmt.Sprintf("%s, population %d: %d players are matched by a pass, %d without repair, %d by draws; %d more by draws among those who are left",
				c.name, seed, got, without, greedy(t, set, tickets, seed), more)
			if t.Log(what); got < without || got == 0 || more > 0 {
				t.Error(what)
			}
		}
	}
}
