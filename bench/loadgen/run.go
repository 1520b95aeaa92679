package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// startDelay lies between the call of Run and the first send, so that the pacer starts on time.
const startDelay = 10 * time.Millisecond

// Plan is one stretch of load. AtStart and AtEnd, when set, are called as the measured part begins and ends, while the
// load goes on or has just stopped; they may take their time.
type Plan struct {
	Hz      float64       // messages per second and player; 0 = that of the swarm
	Warmup  time.Duration // load that is not recorded
	Measure time.Duration // load that is
	Drain   time.Duration // longest wait for messages still under way afterwards
	AtStart func() error
	AtEnd   func() error
	// Every, if not 0, is the length of the moments of the timeline.
	Every time.Duration
}

// Moment is what arrived in a stretch of the measured part.
type Moment struct {
	At        time.Duration `json:"at_ns"` // its end, from the start of the measured part
	PerSecond float64       `json:"per_s"` // with ToAnything of all packets
	Latency   Quantiles     `json:"latency_ns"`
}

// Result is what the measured part brought. Messages belong to it by their intended send time.
type Result struct {
	Sent        int64     `json:"sent"`
	Expected    int64     `json:"expected"`  // sent times the players of the room, sender included; with ToAnything 0; with other targets just sent
	Delivered   int64     `json:"delivered"` // of the expected ones; with ToAnything send times that came back
	Other       int64     `json:"other"`     // packets that were not the swarm's; with ToAnything all
	SendErrors  int64     `json:"send_errors"`
	Disconnects int64     `json:"disconnects"`
	Due         int64     `json:"due"`         // sends that should have been made; more than Sent if the generator could not keep up
	Latency     Quantiles `json:"latency_ns"`  // from the intended send time to the arrival in the client
	Lateness    Quantiles `json:"lateness_ns"` // of the generator itself: from the intended to the real send time

	Detail *Detail `json:"-"` // of this run
}

// Detail is what plots are made of.
type Detail struct {
	Distribution []Point // of the latencies
	Timeline     []Moment
}

// Run drives the swarm, once or several times in turn. It returns in bounded time even when the server stops reading.
// Messages that come after the drain of their run are lost to its result; SendErrors and Disconnects count from the first run on.
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

// readyMax bounds how long the fast channels of all players may take.
const readyMax = 20 * time.Second

// awaitReady waits for the fast channels of all players, if they use them.
func (s *Swarm) awaitReady(ctx context.Context) error {
	if s.cfg.SDK == nil || !s.cfg.SDK.Fast {
		return nil
	}
	deadline := s.now() + int64(readyMax)
	for _, c := range s.conns {
		for !c.ready.Load() && !c.dead.Load() { // who is lost is told at the end
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

// callAt waits for a time of the swarm's clock and calls f.
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

// drain waits until everything expected has arrived, at most for the given time.
func (s *Swarm) drain(ctx context.Context, expected int64, longest time.Duration) error {
	deadline := s.now() + int64(longest)
	for s.delivered() < expected && s.now() < deadline {
		if err := s.callAt(ctx, s.now()+int64(5*time.Millisecond), nil); err != nil {
			return err
		}
	}
	return nil
}

// answersQuiet is how long no send time comes back before a script counts as done. How many it will send is not known.
const answersQuiet = 500 * time.Millisecond

// drainAnswers waits for late answers.
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
