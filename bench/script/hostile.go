package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/report"
	"troupe/bench/server"
)

// hostileResult is what players of other game sessions notice of one hostile script.
type hostileResult struct {
	Way     string        `json:"way"`
	P99     report.Spread `json:"p99_ms"`
	Ratio   report.Spread `json:"ratio"`   // to the same round without
	Hosted  int           `json:"hosted"`  // hostile game sessions altogether: those that were ended are followed by another
	HostCPU report.Spread `json:"cpu_ms"`  // of the host, over the measured part
	Lost    int64         `json:"lost"`    // messages that did not arrive
	Rounds  []sample      `json:"rounds"`  // of this way
	Without report.Spread `json:"without"` // p99 ms of the rounds without
}

// lookEvery is how often it is looked whether the hostile script still runs.
const lookEvery = 200 * time.Millisecond

func (b *bench) hostile(ctx context.Context) error {
	l := load{fleet: fleetEcho, rooms: b.HostileRooms, players: b.HostileRoomOf, to: loadgen.ToServer}
	ways := strings.Split(b.ways, ",")
	results := make([]hostileResult, len(ways)+1) // the first is without any
	for round := range b.Rounds {
		for turn := range results {
			i := turn
			if round%2 == 1 {
				i = len(results) - 1 - turn
			}
			r := &results[i]
			var beside func(context.Context, *server.Process) error
			r.Way = "none"
			if i > 0 {
				r.Way = ways[i-1]
				beside = func(ctx context.Context, proc *server.Process) error { return r.keep(ctx, proc) }
			}
			s, err := b.loaded(ctx, l, beside)
			if err != nil {
				return fmt.Errorf("%s: %w", r.Way, err)
			}
			s.Name = r.Way
			fmt.Fprintf(os.Stderr, "hostile, round %d of %d: %s\n", round+1, b.Rounds, s)
			r.Rounds = append(r.Rounds, s)
		}
	}
	for i := range results {
		r := &results[i]
		r.compute(results[0].Rounds)
		if i > 0 {
			b.res.Bars.Add("p99 beside a script of "+r.Way+", ratio to that without", b.barHostile, r.Ratio.Median, r.Lost == 0 && r.Ratio.Median <= b.barHostile)
		}
	}
	b.res.Hostile = results
	return nil
}

// keep has one hostile game session at any time.
func (r *hostileResult) keep(ctx context.Context, proc *server.Process) error {
	if err := proc.AwaitFleet(ctx, hostileFleet(r.Way)); err != nil {
		return err
	}
	for id := ""; ; {
		status, err := "", error(nil)
		if id != "" {
			status, err = proc.Status(ctx, id)
		}
		if err == nil && (status == "" || status == "TERMINATED") {
			if id, err = proc.CreateGameSession(ctx, hostileFleet(r.Way), 1); err == nil {
				r.Hosted++
			}
		}
		if err == nil {
			err = rest(ctx, lookEvery)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return errors.Join(err, proc.Alive())
		}
	}
}

func (r *hostileResult) compute(without []sample) {
	p99 := func(s sample) float64 { return float64(s.Load.Latency.P99) / float64(time.Millisecond) }
	var all, base, ratios, cpu []float64
	for i, s := range r.Rounds {
		all, base = append(all, p99(s)), append(base, p99(without[i]))
		ratios = append(ratios, p99(s)/p99(without[i]))
		cpu = append(cpu, float64(s.CPU)/float64(time.Millisecond))
		r.Lost += s.Load.Expected - s.Load.Delivered
	}
	r.P99, r.Without, r.Ratio, r.HostCPU = report.SpreadOf(all), report.SpreadOf(base), report.SpreadOf(ratios), report.SpreadOf(cpu)
}
