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

// coalescedBare is the bare relay with the same flush interval as coalesced. It shows how much coalescing can gain on
// the machine.
const coalescedBare = "bare 15 ms"

var rampWorkloads = []Workload{
	rampOf("ramp", "the largest load of 250 rooms of 8 whose latency p99 is under 50 ms", func(r *run) []served {
		return slices.DeleteFunc(r.besideBare(), func(s served) bool { return s.name == coalesced })
	}, []result.Goal{
		{Subject: host, Figure: "best_per_s", Over: bareRelay, Times: 1.3, AtLeast: true},
		{Subject: host, Figure: "best_per_s", Over: colyseus, Times: 2, AtLeast: true},
		{Subject: host, Figure: "best_kib_per_player", Over: bareRelay, Times: 2, Plus: 24},
	}),
	rampOf("ramp-coalesced", "the same with flush.interval=15ms, beside a bare relay that gathers messages for so long", func(r *run) []served {
		gathering := r.bare()
		gathering.Args = append(slices.Clone(gathering.Args), "--interval=15ms")
		return []served{{bareRelay, r.bare()}, {coalescedBare, gathering}, {coalesced, r.host(coalescing)}}
	}, []result.Goal{
		{Subject: coalesced, Figure: "best_per_s", Over: coalescedBare, Times: 0.9, AtLeast: true},
		{Subject: coalesced, Figure: "half_p50_ms", Plus: 9},
	}),
}

func rampOf(name, about string, servers func(*run) []served, goals []result.Goal) Workload {
	return Workload{
		Name: name, About: about, Against: name == "ramp", Goals: goals,
		Params: Params{Rooms: 250, Players: 8, Hz: 1, Payload: 64, Warmup: time.Second, Measure: 3 * time.Second, Rounds: 3},
		quick:  func(p *Params) { p.Warmup, p.Measure = 10*time.Millisecond, 100*time.Millisecond },
		lasts: func(p Params) time.Duration {
			// Upper bound: all tries and the final one at half the load. Each bad load ends with a drain, and most bad
			// loads are followed by a new server.
			again := Params{Rooms: p.Rooms, Players: p.Players}.lasts()
			bad := time.Duration(1 + rampHalvings)
			return time.Duration(rampTries+1)*(p.Warmup+p.Measure) + (1+bad)*again + (bad+rampRepeats)*rampDrain
		},
		subjects: func(r *run) []subject { return r.each(servers(r), (*run).ramp) },
	}
}

const (
	// rampLimit is the p99 latency that a good load must stay below.
	rampLimit = 50 * time.Millisecond
	// rampDoublings bounds how many loads are tried by doubling the previous one. rampHalvings is how often the range
	// between the last good and the first bad load is halved afterwards.
	rampDoublings = 7
	rampHalvings  = 3
	// rampRepeats bounds how often a ramp repeats loads near the limit. A load is near the limit if its p99 is between
	// rampNear and rampFar times rampLimit. Repeating it may give the opposite result by chance. A bad load is also
	// repeated if other programs used more than rampOthers of the machine.
	rampRepeats = 3
	// rampTries bounds the total number of tries of a ramp, and thereby its duration. The more loads the search needs,
	// the fewer are repeated.
	rampTries = 11
	// rampDrain is the maximum wait for late messages. A later message is far above rampLimit anyway.
	rampDrain  = time.Second
	rampOthers = 0.15
	rampNear   = 0.8
	rampFar    = 2.0
	// firstAgain is how often the smallest load is repeated if it was too high.
	firstAgain = 2
	// deliveredMin is the minimum share of messages that must arrive.
	deliveredMin = 0.99
)

// ramp raises the load until it is too high and searches for the highest good load. After a bad load it starts a new
// server, because full queues and lost players would distort the next load.
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

// ladder is the state of one ramp.
type ladder struct {
	r      *run
	search search
	done   bool
	again  int // number of repeats of the smallest load
	near   int // number of repeats of other loads because they were near the limit
	tries  int // number of tries of all loads
	high   try // smallest bad load so far

	proc  *server.Process // current process; empty and swarm belong to it
	swarm *loadgen.Swarm
	empty int64 // resident bytes before the players joined

	steps []result.Step
	best  struct {
		step  result.Step
		round result.Round
		kib   float64 // KiB of memory per player; 0: unknown
	}
}

// climb tries loads until one is bad or the search is finished.
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
			l.again++ // even the smallest load is bad: it may have been disturbed
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

// round returns the result of the ramp.
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

// search finds the highest good value. It doubles the first value until a value is bad. Then it halves the range
// between the last good and the first bad value a few times.
type search struct {
	first     float64
	low, high float64 // largest good and smallest bad value so far; 0: none yet
	tried     int
	halved    int
}

// next returns the next value to try. more is false if the search is finished.
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

// left returns how many values may still have to be tried, including the one that next returned.
func (s *search) left() int {
	if s.high > 0 {
		return rampHalvings - s.halved
	}
	return rampDoublings - s.tried + rampHalvings
}

// tell records whether a value was good.
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

// try is the result of one try of a load.
type try struct {
	step  result.Step
	round result.Round
	near  bool          // repeating the load may give the opposite result
	bound time.Duration // lateness of the generator if it, not the server, made the load bad; otherwise 0
	lost  bool          // players lost their connections
}

// tally counts the good and bad tries of one load.
type tally struct{ good, bad int }

// again records a try and reports whether the load must be tried again. Near the limit, two tries must agree. The last
// try therefore gives the result.
func (t *tally) again(good, near bool) bool {
	if good {
		t.good++
	} else {
		t.bad++
	}
	return near && t.good < 2 && t.bad < 2
}

// decide tries a load, up to three times if it is near the limit, and returns the last try.
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

// mayRepeat reports whether there is time to repeat a load, given that all remaining loads of the search must still be
// tried.
func (l *ladder) mayRepeat() bool {
	return l.near < rampRepeats && l.tries+l.search.left() <= rampTries
}

// disturbed reports whether a load may be bad because other programs used the machine.
func (t *try) disturbed() bool { return !t.step.Good && !t.lost && t.step.Others > rampOthers }

// judge marks the result as invalid if a load that it depends on was too high only for the generator, or perhaps only
// because other programs used the machine.
func (l *ladder) judge(t try) {
	if t.disturbed() {
		l.r.provesNothing("the load of %.0f/s was too much while others used %.0f %% of the machine", t.step.Offered, 100*t.step.Others)
	}
	if t.bound > 0 {
		l.r.provesNothing("the load of %.0f/s was too much for the generator, which was %v late (p99), rather than for the server", t.step.Offered, t.bound.Round(time.Millisecond))
	}
}

// try tries a load once. A load that makes players lose their connections is bad.
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

// withinLimit reports whether a load was good: nearly all of it was sent and arrived, and the p99 latency was below
// rampLimit.
func withinLimit(load *loadgen.Result) bool { return complete(load) && load.Latency.P99 < rampLimit }

// nearLimit reports whether repeating the load may give the opposite result.
func nearLimit(load *loadgen.Result) bool {
	share := float64(load.Latency.P99) / float64(rampLimit)
	return complete(load) && share > rampNear && share < rampFar
}

// complete reports whether nearly all of a load was sent and arrived.
func complete(load *loadgen.Result) bool {
	return load.Delivered > 0 && float64(load.Sent) >= sentMin*float64(load.Due) && float64(load.Delivered) >= deliveredMin*float64(load.Expected)
}
