package suite

import (
	"context"
	"errors"
	"maps"
	"slices"
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
			{Subject: host, Figure: "joins_per_s", Over: bareRelay, Times: 0.8, AtLeast: true},
			{Subject: host, Figure: "failed"},
		},
		subjects: func(r *run) []subject { return r.uncoalesced((*run).storm) },
	},
}

// uncoalesced returns the subjects of besideBare without the coalescing host, which would give the same result as the
// other host.
func (r *run) uncoalesced(measure func(*run, context.Context, server.Spec) (result.Round, error)) []subject {
	return r.each(slices.DeleteFunc(r.besideBare(), func(s served) bool { return s.name == coalesced }), measure)
}

// storm reserves all seats and then logs in all players as fast as possible.
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
		waits := loadgen.NewWaits()
		err = swarm.Connect(ctx, all)
		r.asFastAsItCan(swarm.Joins().Took.P99, waits.P99(), joinFigures...)
		if err == nil {
			err = m.atEnd(ctx)
		}
		if err != nil {
			return r.told(err, proc)
		}
		lost, _ := swarm.Disconnects()
		f.Set("failed", float64(lost))
		addJoins(f, swarm.Joins())
		maps.Copy(f, m.figures())
		if !m.blind {
			f.Set("cpu_join_us", float64(m.cpu())/float64(time.Microsecond)/float64(len(all)))
		}
		return nil
	})
	return round, err
}
