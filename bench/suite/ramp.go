package suite

import (
	"context"
	"fmt"
	"math"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

var rampWorkloads = []Workload{{
	Name: "ramp", About: "the largest load of 250 rooms of 8 whose latency p99 is under 50 ms", Against: true,
	Params: Params{Rooms: 250, Players: 8, Hz: 1, Payload: 64, Warmup: time.Second, Measure: 3 * time.Second, Rounds: 3},
	Goals: []result.Goal{
		{Subject: host, Figure: "best_per_s", Over: bareRelay, Times: 1.2, AtLeast: true},
		{Subject: host, Figure: "best_per_s", Over: colyseus, Times: 2, AtLeast: true},
		{Subject: coalesced, Figure: "best_per_s", Over: bareRelay, Times: 2.5, AtLeast: true},
		{Subject: coalesced, Figure: "half_p50_ms", Plus: 9},
		{Subject: host, Figure: "best_kib_per_player", Over: bareRelay, Times: 2, Plus: 24},
	},
	lasts: func(p Params) time.Duration {
		return p.lasts() + time.Duration(rampDoublings+rampHalvings)*(p.Warmup+p.Measure)
	},
	subjects: func(r *run) (subjects []subject) {
		for _, s := range r.besideBare() {
			subjects = append(subjects, subject{name: s.name, build: r.buildOf(s.spec), measure: func(ctx context.Context) (result.Round, error) {
				return r.ramp(ctx, s.spec)
			}})
		}
		return subjects
	},
}}

const (
	// rampLimit is the p99 that a load must stay under.
	rampLimit = 50 * time.Millisecond
	// rampDoublings bounds the loads that are each twice the one before; rampHalvings is how often the range between the
	// last good one and the first bad one is halved after that.
	rampDoublings = 7
	rampHalvings  = 3
	// deliveredMin is the share of the messages that must have arrived.
	deliveredMin = 0.99
)

// ramp raises the load until it is too much, and looks for the largest that is not.
func (r *run) ramp(ctx context.Context, spec server.Spec) (round result.Round, err error) {
	players := r.p.Rooms * r.p.Players
	err = r.with(ctx, spec, func(proc *server.Process) error {
		empty := r.meter(proc, nil)
		if err := empty.atStart(ctx); err != nil {
			return err
		}
		cfg := loadgen.Config{Hz: r.p.Hz, PayloadBytes: r.p.Payload, Seed: 1}
		return r.filled(ctx, proc, cfg, players, func(swarm *loadgen.Swarm) error {
			l := &ladder{r: r, proc: proc, swarm: swarm, empty: empty.start.usage.RSSBytes}
			round, err = l.climb(ctx)
			return err
		})
	})
	return round, err
}

// ladder is one ramp of one server.
type ladder struct {
	r     *run
	proc  *server.Process
	swarm *loadgen.Swarm
	empty int64 // bytes resident before the players came

	steps []result.Step
	best  struct {
		hz    float64
		step  result.Step
		round result.Round
	}
}

func (l *ladder) climb(ctx context.Context) (round result.Round, err error) {
	low, capped, err := largest(l.r.p.Hz, func(hz float64) (bool, error) { return l.step(ctx, hz) })
	switch {
	case err != nil:
		return round, err
	case low == 0:
		return round, fmt.Errorf("p99 is above %v with the smallest load already: the machine is too slow, or busy with something else", rampLimit)
	case capped:
		l.r.warn("the largest load that was tried was still good: start higher with --hz")
	}
	best := l.best
	if _, err := l.step(ctx, low/2); err != nil {
		return round, err
	}
	half := l.steps[len(l.steps)-1]
	round = best.round
	round.Steps = l.steps
	f := round.Figures
	f.Set("best_per_s", best.step.Delivered)
	f.Set("half_p50_ms", half.P50)
	if l.empty > 0 && best.step.MiB > 0 {
		f.Set("best_kib_per_player", (best.step.MiB*(1<<20)-float64(l.empty))/1024/float64(l.swarm.Size()))
	}
	return round, nil
}

// largest looks for the largest value that is good: it doubles the first one until it is not, and then halves the range
// between the last good and the first bad one a few times. It is 0 if the first one is not good; capped means that no bad one
// was found.
func largest(first float64, good func(float64) (bool, error)) (low float64, capped bool, err error) {
	high := 0.0
	for value, tries := first, 0; tries < rampDoublings && high == 0; value, tries = 2*value, tries+1 {
		ok, err := good(value)
		switch {
		case err != nil:
			return 0, false, err
		case ok:
			low = value
		default:
			high = value
		}
	}
	if low == 0 || high == 0 {
		return low, high == 0, nil
	}
	for range rampHalvings {
		middle := math.Sqrt(low * high)
		ok, err := good(middle)
		switch {
		case err != nil:
			return 0, false, err
		case ok:
			low = middle
		default:
			high = middle
		}
	}
	return low, false, nil
}

// step tries one load. A load that ends the players' connections is too much, and the end of the ramp.
func (l *ladder) step(ctx context.Context, hz float64) (good bool, err error) {
	players := float64(l.swarm.Size())
	offered := hz * players * float64(l.r.p.Players)
	l.r.o.Watch.Live(fmt.Sprintf("%.0f deliveries/s", offered))
	round, load, err := l.r.loaded(ctx, l.proc, l.swarm, loadgen.Plan{Hz: hz, Warmup: l.r.p.Warmup, Measure: l.r.p.Measure})
	if err != nil {
		return false, err
	}
	f := round.Figures
	good = load.Latency.P99 < rampLimit && float64(load.Delivered) >= deliveredMin*float64(load.Expected)
	s := result.Step{Offered: offered, Delivered: f["delivered_per_s"], P50: f["p50_ms"], P99: f["p99_ms"], CPUMicros: f["cpu_us"], MiB: f["resident_mib"], Good: good}
	l.steps = append(l.steps, s)
	if good && hz > l.best.hz {
		l.best.hz, l.best.step, l.best.round = hz, s, round
	}
	if !good {
		if late := load.Lateness.P99; late > rampLimit/2 && load.Latency.P99 < 2*late {
			l.r.provesNothing("the load of %.0f/s was too much for the generator, which was %v late (p99), rather than for the server", offered, late.Round(time.Millisecond))
		}
	}
	return good, ctx.Err()
}
