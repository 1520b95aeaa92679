package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// startDelay is the time between the call of Run and the first send, so that the pacer starts on time.
const startDelay = 10 * time.Millisecond

// Plan is one interval of load. AtStart and AtEnd, if set, are called at the start and at the end of the measured part.
// The load continues while AtStart runs and has just stopped when AtEnd runs. Both may take long.
type Plan struct {
	Hz      float64       // messages per second and player; 0: Hz of the swarm's Config
	Warmup  time.Duration // length of the part that is not recorded
	Measure time.Duration // length of the recorded part
	Drain   time.Duration // maximum wait for late messages after the load
	AtStart func() error
	AtEnd   func() error
	// Every is the length of the moments of the timeline; 0: no timeline.
	Every time.Duration
}

// Moment is the traffic of one interval of the measured part.
type Moment struct {
	At        time.Duration `json:"at_ns"` // end of the moment, since the start of the measured part
	PerSecond float64       `json:"per_s"` // messages received; with ToAnything, all packets
	Latency   Quantiles     `json:"latency_ns"`
}

// Result is the result of the measured part. A message belongs to it if its intended send time does.
type Result struct {
	Sent int64 `json:"sent"`
	// ToRoom: Sent times the players of the room, including the sender; ToAnything and ToTicks: 0; other targets: Sent
	Expected    int64     `json:"expected"`
	Delivered   int64     `json:"delivered"` // expected messages that arrived; with ToAnything, send times that came back
	Other       int64     `json:"other"`     // packets that were not messages of the swarm; with ToAnything, all packets
	SendErrors  int64     `json:"send_errors"`
	Disconnects int64     `json:"disconnects"`
	Due         int64     `json:"due"`         // sends that were due; larger than Sent if the generator could not keep up
	Latency     Quantiles `json:"latency_ns"`  // from the intended send time until the client has received the message
	Lateness    Quantiles `json:"lateness_ns"` // of the generator itself: from the intended to the actual send time

	Detail *Detail `json:"-"` // distribution and timeline of this run
}

// Detail holds the data for plots.
type Detail struct {
	Distribution []Point // distribution of the latencies
	Timeline     []Moment
}

// Run drives the swarm. It may be called several times in sequence. It returns in bounded time even if the server stops
// reading. A message that arrives after the drain of its run is missing from that run's result. SendErrors and
// Disconnects accumulate over all runs.
func (s *Swarm) Run(ctx context.Context, plan Plan) (Result, error) {
	hz := cmp.Or(plan.Hz, s.cfg.Hz)
	if len(s.conns) == 0 || hz <= 0 {
		return Result{}, errors.New("run: no players, or no rate")
	}
	for _, room := range s.rooms {
		for _, c := range room {
			if !c.prepared {
				c.prepare(&s.cfg)
				c.prepared = true
			}
		}
	}
	if err := s.awaitReady(ctx); err != nil {
		return Result{}, err
	}
	start := s.now() + int64(startDelay)
	from := start + int64(plan.Warmup)
	to := from + int64(plan.Measure)
	s.window.from.Store(from)
	s.window.to.Store(to)
	for i := range s.shards {
		s.shards[i].reset()
	}

	p := &pacer{
		swarm: s, schedule: newSchedule(len(s.conns), hz, s.cfg.Seed),
		start: start, stop: to, lateness: newHistogram(),
	}
	halt := p.goRun(ctx)
	defer halt(0)
	if err := s.callAt(ctx, from, plan.AtStart); err != nil {
		return Result{}, err
	}
	looks := s.goWatch(plan, from)
	defer looks.end()
	if err := s.callAt(ctx, to, plan.AtEnd); err != nil {
		return Result{}, err
	}
	looks.end()
	halt(plan.Drain)
	if err := s.drain(ctx, p.expected, plan.Drain); err != nil {
		return Result{}, err
	}
	if s.cfg.To == ToAnything {
		if err := s.drainAnswers(ctx, plan.Drain); err != nil {
			return Result{}, err
		}
	}
	res := s.result(p)
	res.Detail.Timeline = looks.timeline
	return res, nil
}

// readyMax bounds the wait for the fast channels of all players.
const readyMax = 20 * time.Second

// awaitReady waits for the fast channels of all players, if the players use them.
func (s *Swarm) awaitReady(ctx context.Context) error {
	if s.cfg.SDK == nil || !s.cfg.SDK.Fast {
		return nil
	}
	deadline := s.now() + int64(readyMax)
	for _, c := range s.conns {
		for !c.ready.Load() && !c.dead.Load() { // a lost connection is reported at the end
			if s.now() > deadline {
				return fmt.Errorf("run: peer %d of room %d has no fast channel", c.peer, c.room)
			}
			if err := s.callAt(ctx, s.now()+int64(5*time.Millisecond), nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// callAt waits until nanos on the swarm's clock. Then it calls f, which may be nil.
func (s *Swarm) callAt(ctx context.Context, nanos int64, f func() error) error {
	t := time.NewTimer(time.Duration(nanos - s.now()))
	defer t.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("run: %w", context.Cause(ctx))
	case <-t.C:
	}
	if f == nil {
		return nil
	}
	return f()
}

// drain waits until all expected messages have arrived, but no longer than longest.
func (s *Swarm) drain(ctx context.Context, expected int64, longest time.Duration) error {
	deadline := s.now() + int64(longest)
	for s.delivered() < expected && s.now() < deadline {
		if err := s.callAt(ctx, s.now()+int64(5*time.Millisecond), nil); err != nil {
			return err
		}
	}
	return nil
}

// answersQuiet is the time without a returned send time after which a script counts as finished. The number of its
// answers is not known in advance.
const answersQuiet = 500 * time.Millisecond

// drainAnswers waits for late answers of a script, but no longer than longest.
func (s *Swarm) drainAnswers(ctx context.Context, longest time.Duration) error {
	deadline := s.now() + int64(longest)
	seen, since := s.delivered(), s.now()
	for s.now() < min(deadline, since+int64(answersQuiet)) {
		if err := s.callAt(ctx, s.now()+int64(5*time.Millisecond), nil); err != nil {
			return err
		}
		if n := s.delivered(); n != seen {
			seen, since = n, s.now()
		}
	}
	return nil
}

func (s *Swarm) delivered() (n int64) {
	for i := range s.shards {
		r := &s.shards[i]
		r.mu.Lock()
		n += r.delivered
		r.mu.Unlock()
	}
	return n
}

// result merges the shards.
func (s *Swarm) result(p *pacer) Result {
	res := Result{
		Sent: p.sent, Expected: p.expected, Due: p.dueInWindow(),
		SendErrors: s.sendErrors.Load(), Disconnects: s.disconnects.Load(),
		Lateness: quantilesOf(p.lateness),
	}
	latency := newHistogram()
	for i := range s.shards {
		s.shards[i].mergeInto(&res, latency)
	}
	res.Latency, res.Detail = quantilesOf(latency), &Detail{Distribution: distribution(latency)}
	return res
}

func (r *recorder) mergeInto(res *Result, latency *hdrhistogram.Histogram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	latency.Merge(r.latency)
	res.Delivered += r.delivered
	res.Other += r.other
}
