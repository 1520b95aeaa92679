package loadgen

import (
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
	Warmup  time.Duration // load that is not recorded
	Measure time.Duration // load that is
	Drain   time.Duration // longest wait for messages still under way afterwards
	AtStart func() error
	AtEnd   func() error
}

// Result is what the measured part brought. Messages belong to it by their intended send time.
type Result struct {
	Sent        int64     `json:"sent"`
	Expected    int64     `json:"expected"`  // sent times the players of the room, sender included; with other targets just sent
	Delivered   int64     `json:"delivered"` // of the expected ones
	Other       int64     `json:"other"`     // packets that were not the swarm's
	SendErrors  int64     `json:"send_errors"`
	Disconnects int64     `json:"disconnects"`
	Latency     Quantiles `json:"latency_ns"`  // from the intended send time to the arrival in the client
	Lateness    Quantiles `json:"lateness_ns"` // of the generator itself: from the intended to the real send time
}

// Add adds a later run of the same swarm; of quantiles the worst stay.
func (r *Result) Add(o Result) {
	r.Sent += o.Sent
	r.Expected += o.Expected
	r.Delivered += o.Delivered
	r.Other += o.Other
	r.SendErrors, r.Disconnects = o.SendErrors, o.Disconnects // of all runs
	r.Latency.worst(o.Latency)
	r.Lateness.worst(o.Lateness)
}

// Run drives the swarm, once or several times in turn. It returns in bounded time even when the server stops reading.
// Messages that come after the drain of their run are lost to its result; SendErrors and Disconnects count from the first run on.
func (s *Swarm) Run(ctx context.Context, plan Plan) (Result, error) {
	if len(s.conns) == 0 || s.cfg.Hz <= 0 {
		return Result{}, errors.New("run: no players, or no rate")
	}
	for _, c := range s.conns {
		if c.msg == nil {
			c.msg = newMessage(c.peer, s.cfg.PayloadBytes, c.key, c.numbered, s.cfg.To)
		}
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
		swarm: s, schedule: newSchedule(len(s.conns), s.cfg.Hz, s.cfg.Seed),
		start: start, stop: to, lateness: newHistogram(),
	}
	halt := p.goRun(ctx)
	defer halt(0)
	if err := s.callAt(ctx, from, plan.AtStart); err != nil {
		return Result{}, err
	}
	if err := s.callAt(ctx, to, plan.AtEnd); err != nil {
		return Result{}, err
	}
	halt(plan.Drain)
	if err := s.drain(ctx, p.expected, plan.Drain); err != nil {
		return Result{}, err
	}
	return s.result(p), nil
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
		Sent: p.sent, Expected: p.expected,
		SendErrors: s.sendErrors.Load(), Disconnects: s.disconnects.Load(),
		Lateness: quantilesOf(p.lateness),
	}
	latency := newHistogram()
	for i := range s.shards {
		s.shards[i].mergeInto(&res, latency)
	}
	res.Latency = quantilesOf(latency)
	return res
}

func (r *recorder) mergeInto(res *Result, latency *hdrhistogram.Histogram) {
	r.mu.Lock()
	defer r.mu.Unlock()
	latency.Merge(r.latency)
	res.Delivered += r.delivered
	res.Other += r.other
}
