package suite

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

// coalescedBare gathers messages as coalesced does: the most that can be had by that on a machine.
const coalescedBare = "bare 15 ms"

var rampWorkloads = []Workload{
	rampOf("ramp", "the largest load of 250 rooms of 8 whose latency p99 is under 50 ms", func(r *run) []served {
		return slices.DeleteFunc(r.besideBare(), func(s served) bool { return s.name == coalesced })
	}, []result.Goal{
		{Subject: host, Figure: "best_per_s", Over: bareRelay, Times: 1.2, AtLeast: true},
		{Subject: host, Figure: "best_per_s", Over: colyseus, Times: 2, AtLeast: true},
		{Subject: host, Figure: "best_kib_per_player", Over: bareRelay, Times: 2, Plus: 24},
	}),
	rampOf("ramp-coalesced", "the same with flush.interval=15ms, beside a bare relay that gathers messages for so long", func(r *run) []served {
		gathering := r.bare()
		gathering.Args = append(slices.Clone(gathering.Args), "--interval=15ms")
		return []served{{bareRelay, r.bare()}, {coalescedBare, gathering}, {coalesced, r.host(coalescing)}}
	}, []result.Goal{
		{Subject: coalesced, Figure: "best_per_s", Over: bareRelay, Times: 2.5, AtLeast: true},
		{Subject: coalesced, Figure: "half_p50_ms", Plus: 9},
	}),
}

func rampOf(name, about string, servers func(*run) []served, goals []result.Goal) Workload {
	return Workload{
		Name: name, About: about, Against: name == "ramp", Goals: goals,
		Params: Params{Rooms: 250, Players: 8, Hz: 1, Payload: 64, Warmup: time.Second, Measure: 3 * time.Second, Rounds: 3},
		quick:  func(p *Params) { p.Warmup, p.Measure = 10*time.Millisecond, 100*time.Millisecond },
		lasts: func(p Params) time.Duration {
			// At most: all tries and that of half the load; those that are too much end with a drain, and most of them with a fresh server.
			again := Params{Rooms: p.Rooms, Players: p.Players}.lasts()
			bad := time.Duration(1 + rampHalvings)
			return time.Duration(rampTries+1)*(p.Warmup+p.Measure) + (1+bad)*again + (bad+rampRepeats)*rampDrain
		},
		subjects: func(r *run) []subject { return r.each(servers(r), (*run).ramp) },
	}
}

const (
	// rampLimit is the p99 that a load must stay under.
	rampLimit = 50 * time.Millisecond
	// rampDoublings bounds the loads that are each twice the one before; rampHalvings is how often the range between the
	// last good one and the first bad one is halved after that.
	rampDoublings = 7
	rampHalvings  = 3
	// rampRepeats bounds how often a ramp repeats loads near the limit. Near is a p99 between rampNear and rampFar of the limit: there, chance
	// decides on which side the same load comes out. It also decides if others use more than rampOthers of the machine.
	rampRepeats = 3
	// rampTries bounds all tries of a ramp, so that it ends in time: the more loads there are, the fewer are repeated.
	rampTries = 11
	// rampDrain is how long late messages are waited for: what is later than this is far above the limit.
	rampDrain  = time.Second
	rampOthers = 0.15
	rampNear   = 0.8
	rampFar    = 2.0
	// firstAgain is how often the smallest load is repeated if it was too much.
	firstAgain = 2
	// deliveredMin is the share of the messages that must have arrived.
	deliveredMin = 0.99
)

// ramp raises the load until it is too much, and looks for the largest that is not. After a load that was too much it starts a fresh
// server: full queues and lost players would spoil the next load.
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
	near   int // how often others were, because they were near the limit
	tries  int // of all loads
	high   try // the smallest load that was too much so far

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

// climb tries loads until one is too much, or the search is over.
func (l *ladder) climb(ctx context.Context) error {
	for {
		hz, more := l.search.next()
		if !more {
			l.done = true
			l.judge(l.high)
			if l.search.low == 0 {
				return nil
			}
			if l.search.high == 0 {
				l.r.warn("the largest load that was tried was still good: start higher with --hz")
			}
			t, err := l.try(ctx, l.search.low/2)
			l.steps = append(l.steps, t.step)
			l.judge(t)
			return err
		}
		t, err := l.decide(ctx, hz)
		if err != nil {
			return err
		}
		l.steps = append(l.steps, t.step)
		good := t.step.Good
		if !good && l.search.low == 0 && l.again < firstAgain {
			l.again++ // even the smallest load: something else may have disturbed it
			return nil
		}
		if l.search.tell(hz, good); !good {
			l.high = t
			return nil
		}
		if l.best.step, l.best.round = t.step, t.round; l.empty > 0 && t.step.MiB > 0 {
			l.best.kib = (t.step.MiB*(1<<20) - float64(l.empty)) / 1024 / float64(l.swarm.Size())
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

// left is how many values there are to tell at most, with the one that next returned.
func (s *search) left() int {
	if s.high > 0 {
		return rampHalvings - s.halved
	}
	return rampDoublings - s.tried + rampHalvings
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

// try is one try of a load.
type try struct {
	step  result.Step
	round result.Round
	near  bool          // another try may well have the other result
	bound time.Duration // by which the generator was late, if that and not the server was why the load was too much; else 0
	lost  bool          // players lost their connections
}

// tally counts the tries of one load.
type tally struct{ good, bad int }

// again takes one more try and reports whether the load is to be tried again: near the limit it takes two tries that agree. So the
// last try says what the load is.
func (t *tally) again(good, near bool) bool {
	if good {
		t.good++
	} else {
		t.bad++
	}
	return near && t.good < 2 && t.bad < 2
}

// decide tries a load, near the limit up to three times, and returns the last try.
func (l *ladder) decide(ctx context.Context, hz float64) (t try, err error) {
	var all tally
	for {
		l.tries++
		if t, err = l.try(ctx, hz); err != nil || !all.again(t.step.Good, t.near) || !l.mayRepeat() {
			return t, err
		}
		l.near++
	}
}

// mayRepeat reports whether there is time to try a load again: all others that may still come are tried, too.
func (l *ladder) mayRepeat() bool {
	return l.near < rampRepeats && l.tries+l.search.left() <= rampTries
}

// disturbed reports whether a load may have been too much because others used the machine.
func (t *try) disturbed() bool { return !t.step.Good && !t.lost && t.step.Others > rampOthers }

// judge notes that a load that the result depends on was too much for the generator, or perhaps only for what others had left of
// the machine.
func (l *ladder) judge(t try) {
	if t.disturbed() {
		l.r.provesNothing("the load of %.0f/s was too much while others used %.0f %% of the machine", t.step.Offered, 100*t.step.Others)
	}
	if t.bound > 0 {
		l.r.provesNothing("the load of %.0f/s was too much for the generator, which was %v late (p99), rather than for the server", t.step.Offered, t.bound.Round(time.Millisecond))
	}
}

// try tries a load once. One that ends the players' connections is too much.
func (l *ladder) try(ctx context.Context, hz float64) (t try, err error) {
	players := float64(l.swarm.Size())
	offered := hz * players * float64(l.r.p.Players)
	round, load, err := l.r.loaded(ctx, l.proc, l.swarm, loadgen.Plan{Hz: hz, Warmup: l.r.p.Warmup, Measure: l.r.p.Measure, Drain: rampDrain})
	_, lost := errors.AsType[*lostError](err)
	if err != nil && !lost {
		return t, err
	}
	f := round.Figures
	t.round = round
	t.step = result.Step{Offered: offered, Delivered: f["delivered_per_s"], P50: f["p50_ms"], P99: f["p99_ms"], CPUMicros: f["cpu_us"], MiB: f["resident_mib"]}
	t.step.Others, t.lost = round.Others, lost
	t.step.Good = !lost && withinLimit(load)
	t.near = !lost && (nearLimit(load) || t.disturbed())
	if late := load.Lateness.P99; !t.step.Good && late > rampLimit/2 && load.Latency.P99 < 2*late {
		t.bound = late
	}
	return t, ctx.Err()
}

// withinLimit reports whether a load was not too much: nearly all of it was sent, arrived, and did so in time.
func withinLimit(load *loadgen.Result) bool { return complete(load) && load.Latency.P99 < rampLimit }

// nearLimit reports whether the same load might as well be on the other side of the limit when it is tried again.
func nearLimit(load *loadgen.Result) bool {
	share := float64(load.Latency.P99) / float64(rampLimit)
	return complete(load) && share > rampNear && share < rampFar
}

// complete reports whether nearly all of a load was sent and arrived.
func complete(load *loadgen.Result) bool {
	return load.Delivered > 0 && float64(load.Sent) >= sentMin*float64(load.Due) && float64(load.Delivered) >= deliveredMin*float64(load.Expected)
}
