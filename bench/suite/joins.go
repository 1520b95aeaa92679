package suite

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

var joinWorkloads = []Workload{
	{
		Name: "join-storm", About: "all players log in at once, each with a player session that was prepared", Against: true,
		Params: Params{Rooms: 40, Players: 200, Rounds: 3},
		Goals: []result.Goal{
			{Subject: host, Figure: "joins_per_s", Plus: 8000, AtLeast: true},
			{Subject: host, Figure: "failed"},
		},
		subjects: func(r *run) []subject { return r.uncoalesced((*run).storm) },
	},
	{
		Name: "churn", About: "players come and go while others play: those who come play for a second", Against: true,
		Params: Params{Rooms: 25, Players: 8, Hz: 10, Payload: 64, Rate: 200, Warmup: 2 * time.Second, Measure: 8 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: host, Figure: "p99_ms", Over: bareRelay, Times: 2, Plus: 2},
			{Subject: host, Figure: "delivered_share", Plus: 1, AtLeast: true},
			{Subject: host, Figure: "join_p99_ms", Plus: 50},
			{Subject: host, Figure: "failed"},
		},
		// Each wave that has not left yet is beside the players.
		connections: func(p Params) int { return p.Rooms*p.Players + 3*int(p.Rate) },
		subjects:    func(r *run) []subject { return r.uncoalesced((*run).churn) },
	},
}

// uncoalesced measures what collecting output is nothing to: all servers but the host with an interval.
func (r *run) uncoalesced(measure func(*run, context.Context, server.Spec) (result.Round, error)) (subjects []subject) {
	for _, s := range r.besideBare() {
		if s.name == coalesced {
			continue
		}
		subjects = append(subjects, subject{name: s.name, build: r.buildOf(s.spec), measure: func(ctx context.Context) (result.Round, error) {
			return measure(r, ctx, s.spec)
		}})
	}
	return subjects
}

// storm reserves all seats, and then has everybody log in as fast as they can.
func (r *run) storm(ctx context.Context, spec server.Spec) (round result.Round, err error) {
	round.Figures = make(result.Figures)
	f := round.Figures
	err = r.with(ctx, spec, func(proc *server.Process) (err error) {
		var all []loadgen.Login
		for room := range r.p.Rooms {
			opened, err := proc.Open(ctx, room, r.p.Players)
			if err != nil {
				return r.told(err, proc)
			}
			all = append(all, opened.Logins()...)
			r.o.Watch.Live(fmt.Sprintf("%d of %d seats are reserved", len(all), r.p.Rooms*r.p.Players))
		}
		swarm, err := loadgen.New(loadgen.Config{Addr: proc.Announce.WS, DialConcurrency: 256})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, swarm.Close()) }()
		m := r.meter(proc, nil)
		if err := m.atStart(ctx); err != nil {
			return err
		}
		profiles := r.goProfileMeasured(ctx, proc, time.Duration(len(all))*aboutLogin)
		waits := loadgen.NewWaits()
		err = swarm.Connect(ctx, all)
		r.asFastAsItCan(swarm.Joins().Took.P99, waits.P99(), joinFigures...)
		if err == nil {
			err = m.atEnd(ctx)
		}
		if err = errors.Join(err, profiles.wait()); err != nil {
			return r.told(err, proc)
		}
		lost, _ := swarm.Disconnects()
		f.Set("failed", float64(lost))
		addJoins(f, swarm.Joins())
		for name, v := range m.figures() {
			f.Set(name, v)
		}
		if !m.blind {
			f.Set("cpu_join_us", float64(m.cpu())/float64(time.Microsecond)/float64(len(all)))
		}
		return nil
	})
	return round, err
}

const (
	// waveEvery is how often some players come; each plays for playTime.
	waveEvery = 100 * time.Millisecond
	playTime  = time.Second
)

// churn has some players play, and others come and go.
func (r *run) churn(ctx context.Context, spec server.Spec) (round result.Round, err error) {
	c := &comers{r: r}
	round, err = r.relay(ctx, spec, traffic{beside: c.run})
	if err != nil {
		return round, err
	}
	c.add(round.Figures)
	return round, nil
}

// comers come and go, in rooms of their own.
type comers struct {
	r    *run
	proc *server.Process

	mu     sync.Mutex // guards what follows
	waves  int
	joins  loadgen.Joins
	failed int
	first  error
}

// run lets waves of players in until ctx ends, and waits until the last has left.
func (c *comers) run(ctx context.Context, proc *server.Process) error {
	c.proc = proc
	var waves sync.WaitGroup
	defer waves.Wait()
	players := max(1, int(c.r.p.Rate*waveEvery.Seconds()))
	ticker := time.NewTicker(waveEvery)
	defer ticker.Stop()
	for wave := 0; ; wave++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		waves.Go(func() { c.wave(ctx, c.r.p.Rooms+wave, players) })
	}
}

// wave is players that join together, play for playTime, and leave.
func (c *comers) wave(ctx context.Context, number, players int) {
	joins, err := c.visit(ctx, number, players)
	if ctx.Err() != nil {
		return // the end of the run
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if c.failed += players; c.first == nil {
			c.first = c.r.told(err, c.proc)
		}
		return
	}
	c.waves++
	c.joins.Add(joins)
}

func (c *comers) visit(ctx context.Context, number, players int) (j loadgen.Joins, err error) {
	room, err := c.proc.Open(ctx, number, min(players, playersMax))
	if err != nil {
		return j, err
	}
	swarm, err := loadgen.New(loadgen.Config{Addr: c.proc.Announce.WS})
	if err != nil {
		return j, err
	}
	defer func() { err = errors.Join(err, swarm.Close()) }()
	if err := swarm.Connect(ctx, room.Logins()); err != nil {
		return j, err
	}
	j = swarm.Joins()
	return j, rest(ctx, playTime)
}

// add adds the joins of all waves.
func (c *comers) add(f result.Figures) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.Set("failed", float64(c.failed))
	if c.first != nil {
		c.r.warn("players who came were refused, the first: %v", c.first)
	}
	c.joins.PerSecond = float64(c.joins.Players) / (float64(max(c.waves, 1)) * waveEvery.Seconds())
	addJoins(f, c.joins)
}
