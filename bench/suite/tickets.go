package suite

import (
	"context"
	"fmt"
	"sync"
	"time"

	"troupe/bench/result"
	"troupe/bench/server"
)

// besidePasses is the subject in which matchmaking passes run over poolTickets tickets that never match.
const besidePasses = "beside passes"

const poolTickets = 20_000

var ticketWorkloads = []Workload{
	{
		Name: "tickets", About: "StartMatchmaking, one call for each player, who are matched by ten, beside 20,000 waiting tickets that match nothing; the store is a file",
		Params: Params{Rate: 1000, Warmup: 2 * time.Second, Measure: 10 * time.Second, Rounds: 2},
		Goals: []result.Goal{
			{Subject: host, Figure: "p99_ms", Plus: 50},
			{Subject: host, Figure: "calls_per_s", Plus: 980, AtLeast: true},
			{Subject: host, Figure: "failed"},
		},
		connections: someCallers,
		lasts:       func(p Params) time.Duration { return 20*time.Second + p.Warmup + p.Measure },
		subjects:    func(r *run) []subject { return r.onStore(r.matching, (*run).tickets) },
	},
	{
		Name: "relay-matching", About: "messages to all 8 players of a room, without and beside passes over 20,000 waiting tickets",
		Params: Params{Rooms: 25, Players: 8, Hz: 10, Payload: 64, Warmup: warmup, Measure: 10 * time.Second, Rounds: 2},
		Goals: []result.Goal{
			{Subject: besidePasses, Figure: "p99_ms", Over: host, Times: 1.5},
			{Subject: besidePasses, Figure: "delivered_share", Plus: 1, AtLeast: true},
		},
		lasts: func(p Params) time.Duration { return 15*time.Second + p.Warmup + p.Measure },
		subjects: func(r *run) (all []subject) {
			round := 0
			for _, s := range []struct {
				name  string
				ready func(ctx context.Context, proc *server.Process) error
			}{{host, nil}, {besidePasses, r.fillPool}} {
				all = append(all, r.subject(s.name, r.host(), func(ctx context.Context) (got result.Round, err error) {
					round++
					spec, err := r.matching(fmt.Sprintf("store-%d.db", round))
					if err != nil {
						return got, err
					}
					return r.relay(ctx, spec, traffic{ready: s.ready})
				}))
			}
			return all
		},
	},
}

// matching returns the host of stored with two matchmaking configurations: the tickets of pool wait, the tickets of
// ranked match.
func (r *run) matching(store string) (server.Spec, error) {
	spec, err := r.stored(store)
	if err != nil {
		return spec, err
	}
	spec.Config, err = r.file("matching.yaml", fmt.Sprintf(serviceConfig+`matchmaking:
  ruleSets: [{name: pool, body: %q}, {name: ranked, body: %q}]
  configurations:
  - {name: pool, ruleSet: pool, queue: queue-a, requestTimeout: 3600s}
  - {name: ranked, ruleSet: ranked, queue: queue-a, requestTimeout: 3600s}
`, fmt.Sprintf(poolRules, 1, 2, 3), fmt.Sprintf(poolRules, 30, 80, 160)))
	return spec, err
}

// startTicket starts matchmaking for one player.
func startTicket(ctx context.Context, api *server.API, configuration string, i, skill int) error {
	type number struct{ N float64 }
	type player struct {
		PlayerId         string
		PlayerAttributes map[string]number
		LatencyInMs      map[string]int
	}
	id := fmt.Sprintf("%s-%d", configuration, i)
	in := struct {
		ConfigurationName, TicketId string
		Players                     []player
	}{configuration, id, []player{{"of-" + id, map[string]number{"skill": {float64(skill)}}, map[string]int{"us-west-2": 30 + i%40, "eu-west-1": 40 + i%30}}}}
	return api.Call(ctx, "StartMatchmaking", in, new(struct{}))
}

// fillPool starts tickets that never match. A match needs ten skills within a distance of 3, and all skills differ.
func (r *run) fillPool(ctx context.Context, proc *server.Process) error {
	n := poolTickets
	if r.o.Quick {
		n = 20
	}
	api := proc.API(callers)
	defer api.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for maker := range makers {
		wg.Go(func() {
			for i := maker; i < n && ctx.Err() == nil; i += makers {
				if err := startTicket(ctx, api, "pool", i, i*7919%poolTickets); err != nil {
					cancel(fmt.Errorf("ticket %d: %w", i, err))
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// tickets starts tickets that match while the tickets of fillPool wait.
func (r *run) tickets(ctx context.Context, proc *server.Process) (round result.Round, err error) {
	if err := r.fillPool(ctx, proc); err != nil {
		return round, err
	}
	api := proc.API(callers)
	defer api.Close()
	return r.called(ctx, []*server.Process{proc}, func(ctx context.Context, k *calls) {
		r.pace(ctx, k, func(ctx context.Context, i int, due time.Time) {
			k.done(due, startTicket(ctx, api, "ranked", i, 1500+i*7919%600))
		})
	})
}
