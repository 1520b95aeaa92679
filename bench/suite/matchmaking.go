package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/bench/matchmaking"
	"troupe/bench/result"
)

// Subjects of the matchmaking workload. Each is a state of a ticket pool.
const (
	steadyPool = "as many match as come"
	fullPool   = "most match at once"
	vainPool   = "nobody matches"
)

var matchmakingWorkloads = []Workload{{
	Name: "matchmaking", About: "passes over 20,000 waiting tickets, 2 teams of 5 with skill distance, latency and expansions, in virtual time and without a host",
	Params: Params{Rate: 1000, Warmup: 90 * time.Second, Measure: 60 * time.Second, Rounds: 3},
	Goals: []result.Goal{
		{Subject: steadyPool, Figure: "pass_p99_ms", Plus: 100},
		{Subject: steadyPool, Figure: "matched_per_s", Plus: 950, AtLeast: true},
		{Subject: fullPool, Figure: "pass_p99_ms", Plus: 100},
		{Subject: vainPool, Figure: "pass_p99_ms", Plus: 100},
	},
	quick:       func(p *Params) { p.Warmup, p.Measure = time.Second, 2*time.Second },
	connections: func(Params) int { return 0 },
	lasts:       func(p Params) time.Duration { return (p.Warmup + p.Measure) / 10 },
	subjects:    (*run).pools,
}}

// poolSeconds is how many seconds of arrivals are in the pool at the start. In steady state, this is the average wait.
const poolSeconds = 20

// poolRules is the format string of the rule set. Its arguments are the maximum skill distance at first, after 10 s, and after
// 30 s.
const poolRules = `{"ruleLanguageVersion":"1.0","playerAttributes":[{"name":"skill","type":"number"}],
	"teams":[{"name":"team","minPlayers":5,"maxPlayers":5,"quantity":2}],
	"rules":[
		{"name":"Near","type":"distance","measurements":["max(flatten(teams[*].players.attributes[skill]))"],"referenceValue":"min(flatten(teams[*].players.attributes[skill]))","maxDistance":%d},
		{"name":"Fair","type":"distance","measurements":["avg(teams[*].players.attributes[skill])"],"referenceValue":"avg(flatten(teams[*].players.attributes[skill]))","maxDistance":50},
		{"name":"Fast","type":"latency","maxLatency":80}],
	"expansions":[
		{"target":"rules[Near].maxDistance","steps":[{"waitTimeSeconds":10,"value":%d},{"waitTimeSeconds":30,"value":%d}]},
		{"target":"rules[Fast].maxLatency","steps":[{"waitTimeSeconds":15,"value":120},{"waitTimeSeconds":40,"value":200}]}]}`

func (r *run) pools() (subjects []subject) {
	for _, s := range []struct {
		name              string
		near, wide, wider int
		refill            bool
	}{{steadyPool, 30, 80, 160, false}, {fullPool, 200, 400, 800, true}, {vainPool, 1, 2, 3, true}} {
		load := matchmaking.PassLoad{
			RuleSet: fmt.Sprintf(poolRules, s.near, s.wide, s.wider), Waiting: poolSeconds * int(r.p.Rate), Rate: int(r.p.Rate), Warm: r.p.Warmup, Measure: r.p.Measure, Refill: s.refill,
			Population: matchmaking.Population{Parties: 0.2, Locations: 4, Attributes: map[string]string{"skill": "1500,300"}, Seed: 1},
		}
		if s.refill {
			load.Warm = time.Second
		}
		subjects = append(subjects, subject{name: s.name, measure: func(ctx context.Context) (result.Round, error) { return passes(ctx, load) }})
	}
	return subjects
}

// passes runs a load of matchmaking passes without a host.
func passes(ctx context.Context, load matchmaking.PassLoad) (round result.Round, err error) {
	f, err := load.Run(ctx)
	if err == nil && len(f.Passes) == 0 {
		err = errors.New("--measure must be a second at least: there is a pass each second")
	}
	if err != nil {
		return round, err
	}
	n := len(f.Passes)
	round.Figures = make(result.Figures)
	round.Figures.Set("pass_p50_ms", ms(f.Passes[n/2]))
	round.Figures.Set("pass_p99_ms", ms(f.Passes[n*99/100]))
	round.Figures.Set("matched_per_s", float64(f.Matched)/float64(n))
	round.Figures.Set("waiting", f.Waiting)
	round.Figures.Set("passes_cut", float64(f.Cut))
	var all time.Duration
	for _, took := range f.Passes {
		all += took
	}
	if f.Matched > 0 {
		round.Figures.Set("matched_us", float64(all.Microseconds())/float64(f.Matched))
	}
	return round, nil
}
