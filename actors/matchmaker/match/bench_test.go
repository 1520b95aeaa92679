package match

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"troupe/actors/matchmaker/ruleset"
)

// benchRules is a typical rule set: two teams of 5, similar skills, fair teams, low latency, and expansions.
const benchRules = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
	"teams":[{"name":"team","minPlayers":5,"maxPlayers":5,"quantity":2}],
	"rules":[
		{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":%d},
		{"name":"Fair","type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":50},
		{"name":"Fast","type":"latency","maxLatency":80}],
	"expansions":[
		{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":10,"value":%d},{"waitTimeSeconds":30,"value":%d}]},
		{"target":"rules[Fast].maxLatency","steps":[{"waitTimeSeconds":15,"value":120},{"waitTimeSeconds":40,"value":200}]}]}`

// population returns tickets that arrived within the last minute. One in five is a party of two or three
// players.
func population(n int, seed uint64) []Ticket {
	rng := rand.New(rand.NewPCG(seed, 1))
	tickets := make([]Ticket, n)
	for i := range tickets {
		players := 1
		if rng.IntN(5) == 0 {
			players = 2 + rng.IntN(2)
		}
		t := Ticket{ID: fmt.Sprint("t", i), Start: at(60 * rng.Float64())}
		home := rng.IntN(4)
		for j := range players {
			p := Player{ID: fmt.Sprint("p", i, "-", j), Latencies: map[string]int{}, Attributes: map[string]ruleset.Value{
				"skill": {Type: ruleset.Number, N: 1500 + 300*rng.NormFloat64()},
			}}
			for l, name := range []string{"eu-central-1", "eu-west-1", "us-east-1", "us-west-2"} {
				p.Latencies[name] = 20 + rng.IntN(30) + 60*max(home-l, l-home)
			}
			t.Players = append(t.Players, p)
		}
		tickets[i] = t
	}
	return tickets
}

// The figures of flexmatch.md 21: one pass over 20,000 waiting tickets. In "matches", most tickets find a
// match. In "waits", almost none do, so each pass tries them all without success. The benchmark also reports
// evaluations, which do not depend on the machine.
func BenchmarkPass(b *testing.B) {
	for _, c := range []struct {
		name              string
		near, wide, wider int
	}{{"matches", 200, 400, 800}, {"waits", 1, 2, 3}} {
		b.Run(c.name, func(b *testing.B) {
			set := parse(b, fmt.Sprintf(benchRules, c.near, c.wide, c.wider))
			tickets := population(20_000, 1)
			var times []time.Duration
			matched, work := 0, 0
			for b.Loop() {
				b.StopTimer()
				pool := New(set, Options{Budget: math.MaxInt})
				fill(b, pool, tickets)
				b.StartTimer()
				began := time.Now()
				s := pool.Begin(at(60), uint64(len(times)))
				for !s.Step(20_000) {
				}
				times = append(times, time.Since(began))
				matched, work = len(s.Take()), s.Evaluations()
			}
			reportTimes(b, times)
			b.ReportMetric(float64(matched), "matches/pass")
			b.ReportMetric(float64(work), "evaluations/pass")
		})
	}
}

func reportTimes(b *testing.B, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "ms-p50")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds())/1000, "ms-p99")
}

// A large match: 200 players out of 20,000 tickets (flexmatch.md 21: 500 ms).
func BenchmarkLargeMatch(b *testing.B) {
	set := parse(b, `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
		"algorithm":{"strategy":"balanced","balancedAttribute":"skill","batchingPreference":"fastestRegion"},
		"teams":[{"name":"team","minPlayers":50,"maxPlayers":100,"quantity":2}],"rules":[{"name":"Fast","type":"latency","maxLatency":150}]}`)
	tickets := population(20_000, 1)
	matched := 0
	for b.Loop() {
		b.StopTimer()
		pool := New(set, Options{})
		fill(b, pool, tickets)
		b.StartTimer()
		s := pool.Begin(at(60), 1)
		for len(s.matches) == 0 && !s.Step(1) {
		}
		matched = len(s.Take())
	}
	b.ReportMetric(float64(matched), "matches")
}
