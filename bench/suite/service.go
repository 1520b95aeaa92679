package suite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"troupe/bench/result"
	"troupe/bench/server"
)

var serviceWorkloads = []Workload{
	{
		Name: "placements", About: "placements for two players with latencies, from the call to the event that they are fulfilled; the store is a file",
		Params: Params{Rate: 500, Warmup: time.Second, Measure: 10 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: host, Figure: "p99_ms", Plus: 50},
			{Subject: host, Figure: "calls_per_s", Plus: 490, AtLeast: true},
			{Subject: host, Figure: "failed"},
		},
		connections: someCallers,
		subjects:    func(r *run) []subject { return r.service((*run).placements) },
	},
	{
		Name: "player-sessions", About: "CreatePlayerSession, one call for each; the store is a file",
		Params: Params{Rate: 2000, Warmup: time.Second, Measure: 10 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: host, Figure: "p99_ms", Plus: 50},
			{Subject: host, Figure: "calls_per_s", Plus: 1960, AtLeast: true},
			{Subject: host, Figure: "failed"},
		},
		connections: someCallers,
		subjects:    func(r *run) []subject { return r.service((*run).playerSessions) },
	},
	{
		Name: "search", About: "a sorted page of a filter with three terms, which one game session in 500 fits",
		Params: Params{Rooms: 50_000, Rate: 20, Warmup: time.Second, Measure: 10 * time.Second, Rounds: 1},
		Goals: []result.Goal{
			{Subject: host, Figure: "p99_ms", Plus: 20},
			{Subject: host, Figure: "failed"},
		},
		connections: someCallers,
		quick:       func(p *Params) { p.Rooms = 20 },
		subjects:    func(r *run) []subject { return r.service((*run).search) },
	},
	{
		Name: "start", About: "from the start of the process until it listens: on an empty store, on one with a game session of each room, its players and its placement, and on as many logs of ended game sessions",
		Params: Params{Rooms: 20_000, Players: 3, Rounds: 3},
		Goals: []result.Goal{
			{Subject: fullStore, Figure: "start_s", Plus: 2},
		},
		connections: someCallers,
		lasts:       func(Params) time.Duration { return 3 * time.Second },
		subjects:    (*run).starts,
	},
}

func someCallers(Params) int { return callers }

// serviceConfig configures a host with many slots for game sessions in three locations, and a queue over them.
const serviceConfig = `locations: [{name: us-west-2}, {name: eu-west-1}]
fleets:
- {id: fleet-a, name: a, gameSessionsMax: 1000000, locations: [{name: us-west-2}, {name: eu-west-1}]}
aliases: [{id: alias-a, name: a, fleet: fleet-a}]
queues:
- {name: queue-a, timeout: 60s, destinations: [alias-a]}
log: {level: warn}
session: {emptyTimeout: 1h}
drain: {grace: 0s}
`

const serviceFleet = "fleet-a"

// stored returns a host whose store is a file in the folder of the run.
func (r *run) stored(store string) (server.Spec, error) {
	spec := r.host("store.path=" + filepath.Join(r.dir, store))
	spec.FleetID = serviceFleet
	var err error
	spec.Config, err = r.file("service.yaml", serviceConfig)
	return spec, err
}

// service returns a subject that measures calls of a host's service API.
func (r *run) service(measure func(*run, context.Context, *server.Process) (result.Round, error)) []subject {
	return r.onStore(r.stored, measure)
}

// onStore returns a subject for the host that describe returns. Each round uses a new store.
func (r *run) onStore(describe func(store string) (server.Spec, error), measure func(*run, context.Context, *server.Process) (result.Round, error)) []subject {
	round := 0
	return []subject{r.subject(host, r.host(), func(ctx context.Context) (got result.Round, err error) {
		round++ // each round has its own store
		spec, err := describe(fmt.Sprintf("store-%d.db", round))
		if err != nil {
			return got, err
		}
		err = r.with(ctx, spec, func(proc *server.Process) (err error) {
			if got, err = measure(r, ctx, proc); err != nil {
				return errors.Join(err, proc.Alive())
			}
			return nil
		})
		return got, err
	})}
}

// playerSessions reserves seats with one call each.
func (r *run) playerSessions(ctx context.Context, proc *server.Process) (round result.Round, err error) {
	return r.seats(ctx, []*server.Process{proc}, 0)
}

// seats reserves seats at the host that runs the game session, or at one away hosts after it.
func (r *run) seats(ctx context.Context, procs []*server.Process, away int) (round result.Round, err error) {
	seats := int(r.p.Rate * (r.p.Warmup + r.p.Measure).Seconds())
	all := apisOf(procs)
	defer all.close()
	var sessions []string
	var owners []int
	for i := range max(seats/(playersMax/2)+1, 2*len(all)) { // half-full sessions, so that none reaches its limit
		id, err := procs[i%len(all)].CreateGameSession(ctx, serviceFleet, playersMax)
		if err != nil {
			return round, err
		}
		sessions = append(sessions, id)
	}
	for _, id := range sessions {
		if err := procs[0].AwaitActive(ctx, id); err != nil {
			return round, err
		}
		owner, err := ownerOf(ctx, procs[:len(all)], id)
		if err != nil {
			return round, err
		}
		owners = append(owners, owner)
	}
	return r.called(ctx, procs, func(ctx context.Context, k *calls) {
		r.pace(ctx, k, func(ctx context.Context, i int, due time.Time) {
			session := i % len(sessions)
			in := struct{ GameSessionId, PlayerId string }{sessions[session], fmt.Sprintf("player-%d", i)}
			var out struct {
				PlayerSession struct{ PlayerSessionId string }
			}
			err := all.call(ctx, owners[session]+away, "CreatePlayerSession", in, &out)
			if err == nil && out.PlayerSession.PlayerSessionId == "" {
				err = errors.New("no player session in the answer")
			}
			k.done(due, err)
		})
	})
}

const (
	// searchKinds is the number of different maps of the game sessions. searchFilter matches the sessions with one of
	// these maps.
	searchKinds  = 500
	searchFilter = "maximumSessions > 1 AND hasAvailablePlayerSessions=true AND gameSessionProperties.map='m7'"
	searchPage   = 20
	// makers is the number of concurrent callers that create game sessions.
	makers = 16
)

// search creates many game sessions and searches them.
func (r *run) search(ctx context.Context, proc *server.Process) (round result.Round, err error) {
	return r.searched(ctx, []*server.Process{proc})
}

// searched searches game sessions at all hosts in turn.
func (r *run) searched(ctx context.Context, procs []*server.Process) (round result.Round, err error) {
	all := apisOf(procs)
	defer all.close()
	if err := r.populate(ctx, all); err != nil {
		return round, err
	}
	in := struct{ FleetId, FilterExpression, SortExpression string }{serviceFleet, searchFilter, "creationTimeMillis DESC"}
	want := min(searchPage, (r.p.Rooms+searchKinds-8)/searchKinds)
	found := func(turn int) (n int, err error) {
		var out struct {
			GameSessions []struct{ GameSessionId string }
		}
		err = all.call(ctx, turn, "SearchGameSessions", in, &out)
		return len(out.GameSessions), err
	}
	for n := 0; n < want; { // until enough sessions are ACTIVE
		if n, err = found(0); err == nil && n < want {
			err = rest(ctx, 50*time.Millisecond)
		}
		if err != nil {
			return round, err
		}
	}
	return r.called(ctx, procs, func(ctx context.Context, k *calls) {
		r.pace(ctx, k, func(ctx context.Context, i int, due time.Time) {
			n, err := found(i)
			if err == nil && n < want {
				err = fmt.Errorf("%d game sessions found, not %d", n, want)
			}
			k.done(due, err)
		})
	})
}

// populate creates the game sessions.
func (r *run) populate(ctx context.Context, all apis) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for maker := range makers {
		wg.Go(func() {
			for i := maker; i < r.p.Rooms && ctx.Err() == nil; i += makers {
				if err := all.call(ctx, i, "CreateGameSession", newGame(i), new(struct{})); err != nil {
					cancel(fmt.Errorf("game session %d: %w", i, err))
				}
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}

// newGame returns the request that creates one of many game sessions.
func newGame(i int) any {
	type property struct{ Key, Value string }
	return struct {
		FleetId                   string
		MaximumPlayerSessionCount int
		GameProperties            []property
	}{serviceFleet, 8, []property{{"map", fmt.Sprintf("m%d", i%searchKinds)}, {"mode", "ranked"}}}
}
