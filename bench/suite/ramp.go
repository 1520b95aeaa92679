package suite

import (
	"context"
	"errors"
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
	quick: func(p *Params) { p.Warmup, p.Measure = 10*time.Millisecond, 100*time.Millisecond },
	lasts: func(p Params) time.Duration {
		again := Params{Rooms: p.Rooms, Players: p.Players}.lasts() // after each load that was too much
		return p.lasts() + time.Duration(rampDoublings+rampHalvings)*(p.Warmup+p.Measure) + time.Duration(1+rampHalvings)*again
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
	// firstAgain is how often the smallest load is repeated if it was too much.
	firstAgain = 2
	// deliveredMin is the share of the messages that must have arrived.
	deliveredMin = 0.99
)

// ramp raises the load until it is too much, and looks for the largest that is not. After a load that was too much it goes
// on with a fresh server: queues that are still full, or players that are gone, would spoil the next one.
func (r *run) ramp(ctx context.Context, spec server.Spec) (result.Round, error) {
	players := r.p.Rooms * r.p.Players
	l := &ladder{r: r, search: search{first: r.p.Hz}}
	for !l.done {
		err := r.with(ctx, spec, func(proc *server.Process) error {
			empty := r.meter(proc, nil)
			if err := empty.atStart(ctx); err != nil {
				return err
			}
			cfg := loadgen.Config{Hz: r.p.Hz, PayloadBytes: r.p.Payload, Seed: 1}
			return r.filled(ctx, proc, cfg, players, func(swarm *loadgen.Swarm) error {
				l.proc, l.swarm, l.empty = proc, swarm, empty.start.usage.RSSBytes
				return l.climb(ctx)
			})
		})
		if err != nil {
			return result.Round{}, err
		}
	}
	return l.round(), nil
}

// ladder is one ramp.
type ladder struct {
	r      *run
	search search
	done   bool
	again  int // how often the smallest load was repeated

	proc  *server.Process // of now, as the next two
	swarm *loadgen.Swarm
	empty int64 // bytes resident before the players came

	steps []result.Step
	best  struct {
		step  result.Step
		round result.Round
		kib   float64 // memory per player; 0: not known
	}
}

// climb goes on until a load is too much, or until all is known.
func (l *ladder) climb(ctx context.Context) error {
	for {
		hz, more := l.search.next()
		if !more {
			l.done = true
			if l.search.low == 0 {
				return nil
			}
			if l.search.high == 0 {
				l.r.warn("the largest load that was tried was still good: start higher with --hz")
			}
			_, _, err := l.step(ctx, l.search.low/2)
			return err
		}
		good, round, err := l.step(ctx, hz)
		if err != nil {
			return err
		}
		if !good && l.search.low == 0 && l.again < firstAgain {
			l.again++ // even the smallest load: something else may have disturbed it
			return nil
		}
		if l.search.tell(hz, good); !good {
			return nil
		}
		s := l.steps[len(l.steps)-1]
		if l.best.step, l.best.round = s, round; l.empty > 0 && s.MiB > 0 {
			l.best.kib = (s.MiB*(1<<20) - float64(l.empty)) / 1024 / float64(l.swarm.Size())
		}
	}
}

// round is what the ramp has brought.
func (l *ladder) round() result.Round {
	if l.search.low == 0 {
		l.r.warn("p99 is above %v with the smallest load already: the server or the machine is too slow, or busy with something else", rampLimit)
		return result.Round{Figures: result.Figures{"best_per_s": 0}, Steps: l.steps}
	}
	round := l.best.round
	round.Steps = l.steps
	f := round.Figures
	f.Set("best_per_s", l.best.step.Delivered)
	f.Set("half_p50_ms", l.steps[len(l.steps)-1].P50)
	if l.best.kib > 0 {
		f.Set("best_kib_per_player", l.best.kib)
	}
	return round
}

// search looks for the largest value that is good: it doubles the first one until it is not, and then halves the range
// between the last good one and the first bad one a few times.
type search struct {
	first     float64
	low, high float64 // the largest good and the smallest bad one so far; 0: none yet
	tried     int
	halved    int
}

// next is the value to try, false: all is known.
func (s *search) next() (value float64, more bool) {
	switch {
	case s.low == 0 && s.high == 0:
		return s.first, true
	case s.low == 0:
		return 0, false
	case s.high == 0:
		return 2 * s.low, s.tried < rampDoublings
	}
	return math.Sqrt(s.low * s.high), s.halved < rampHalvings
}

// tell says whether a value was good.
func (s *search) tell(value float64, good bool) {
	s.tried++
	if s.low > 0 && s.high > 0 {
		s.halved++
	}
	if good {
		s.low = value
	} else {
		s.high = value
	}
}

// step tries one load. A load that ends the players' connections is too much.
func (l *ladder) step(ctx context.Context, hz float64) (good bool, round result.Round, err error) {
	players := float64(l.swarm.Size())
	offered := hz * players * float64(l.r.p.Players)
	l.r.o.Watch.Live(fmt.Sprintf("%.0f deliveries/s", offered))
	round, load, err := l.r.loaded(ctx, l.proc, l.swarm, loadgen.Plan{Hz: hz, Warmup: l.r.p.Warmup, Measure: l.r.p.Measure})
	_, lost := errors.AsType[*lostError](err)
	if err != nil && !lost {
		return false, round, err
	}
	good = !lost && withinLimit(load)
	f := round.Figures
	l.steps = append(l.steps, result.Step{Offered: offered, Delivered: f["delivered_per_s"], P50: f["p50_ms"], P99: f["p99_ms"], CPUMicros: f["cpu_us"], MiB: f["resident_mib"], Good: good})
	if !good {
		if late := load.Lateness.P99; late > rampLimit/2 && load.Latency.P99 < 2*late {
			l.r.provesNothing("the load of %.0f/s was too much for the generator, which was %v late (p99), rather than for the server", offered, late.Round(time.Millisecond))
		}
	}
	return good, round, ctx.Err()
}

// withinLimit reports whether a load was not too much: nearly all of it was sent, arrived, and did so in time.
func withinLimit(load *loadgen.Result) bool {
	return load.Delivered > 0 && float64(load.Sent) >= sentMin*float64(load.Due) &&
		float64(load.Delivered) >= deliveredMin*float64(load.Expected) && load.Latency.P99 < rampLimit
}
