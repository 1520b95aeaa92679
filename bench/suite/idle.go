package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

var memoryWorkloads = []Workload{{
	Name: "idle", About: "players that are logged in and do nothing: memory 5 s after the last one came",
	Params:  Params{Rooms: 48, Players: 200, Rest: 5 * time.Second, Rounds: 3},
	Against: true,
	Goals:   []result.Goal{{Subject: host, Figure: "kib_per_connection", Plus: 8.5}},
	subjects: func(r *run) []subject {
		return r.uncoalesced(func(r *run, ctx context.Context, s server.Spec) (result.Round, error) {
			return r.idle(ctx, s, traffic{})
		})
	},
}}

// restBefore is the wait between the start of a server and the first reading of its memory.
const restBefore = time.Second

// idle fills a server with players, waits, and reads its memory. It does not force a garbage collection or the release
// of memory in the server, so the figure is what an operator sees.
func (r *run) idle(ctx context.Context, spec server.Spec, t traffic) (round result.Round, err error) {
	round.Figures = make(result.Figures)
	f := round.Figures
	err = r.with(ctx, spec, func(proc *server.Process) error {
		if err := rest(ctx, min(restBefore, r.p.Rest)); err != nil {
			return err
		}
		before := r.meter(proc, nil)
		if err := before.atStart(ctx); err != nil {
			return err
		}
		players := r.p.Rooms * r.p.Players
		sdk, err := t.sdk(proc)
		if err != nil {
			return err
		}
		waits := loadgen.NewWaits()
		return r.filled(ctx, proc, loadgen.Config{SDK: sdk}, players, func(swarm *loadgen.Swarm) error {
			r.asFastAsItCan(swarm.Joins().Took.P99, waits.P99(), joinFigures...)
			after := r.meter(proc, nil)
			if err := after.read(&after.start); err != nil {
				return err
			}
			if err := rest(ctx, r.p.Rest); err != nil {
				return err
			}
			if r.p.Measure > 0 { // measure CPU only after the rest
				if err := after.read(&after.start); err != nil {
					return err
				}
				if err := rest(ctx, r.p.Measure); err != nil {
					return err
				}
			}
			if err := after.atEnd(ctx); err != nil {
				return err
			}
			if lost, first := swarm.Disconnects(); lost > 0 {
				return errors.Join(fmt.Errorf("%d players were lost, the first: %w", lost, first), proc.Alive())
			}
			addJoins(f, swarm.Joins())
			if before.blind || after.blind {
				return nil
			}
			first, last := before.start, after.end
			each := func(bytes int64) float64 { return float64(bytes-first.usage.RSSBytes) / 1024 / float64(players) }
			f.Set("kib_per_connection", each(last.usage.RSSBytes))
			if last.usage.PeakBytes > 0 {
				f.Set("kib_peak", each(last.usage.PeakBytes))
			}
			f.Set("resident_mib", float64(last.usage.RSSBytes)/(1<<20))
			f.Set("cpu_cores", float64(after.cpu())/float64(last.at.Sub(after.start.at)))
			if first.counters.Goroutines >= 0 && last.counters.Goroutines >= 0 {
				f.Set("goroutines", float64(last.counters.Goroutines-first.counters.Goroutines)/float64(players))
			}
			return nil
		})
	})
	return round, err
}

// joinFigures are the figures that addJoins sets.
var joinFigures = []string{"joins_per_s", "join_p50_ms", "join_p99_ms", "join_max_ms"}

func addJoins(f result.Figures, j loadgen.Joins) {
	if j.Players == 0 {
		return
	}
	f.Set("joins_per_s", j.PerSecond)
	f.Set("join_p50_ms", ms(j.Took.P50))
	f.Set("join_p99_ms", ms(j.Took.P99))
	f.Set("join_max_ms", ms(j.Took.Max))
}

// rest waits for d. It returns an error if ctx ends first.
func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
