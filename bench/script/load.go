package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/server"
)

// drainMax is how long late messages are waited for.
const drainMax = 5 * time.Second

// sample is one stretch of load on one host. Deltas are over the measured part.
type sample struct {
	Name         string         `json:"name"`
	Took         time.Duration  `json:"took_ns"`
	CPU          time.Duration  `json:"cpu_ns"`   // of the host
	Received     int64          `json:"received"` // by the clients
	GeneratorCPU time.Duration  `json:"generator_cpu_ns"`
	OtherShare   float64        `json:"other_share"` // of the machine: busy, but neither host nor generator
	Load         loadgen.Result `json:"load"`
}

// cpuMicros is the host's CPU time per message that came back.
func (s sample) cpuMicros() float64 {
	if s.Received <= 0 {
		return math.NaN()
	}
	return float64(s.CPU) / float64(time.Microsecond) / float64(s.Received)
}

// String is one line of progress.
func (s sample) String() string {
	return fmt.Sprintf("%-10s %6.2f us/message, host %.2f cores, %d of %d, %s, other %.1f%%", s.Name, s.cpuMicros(),
		float64(s.CPU)/float64(s.Took), s.Load.Delivered, s.Load.Expected, s.Load.Latency, 100*s.OtherShare)
}

// edge is what is read at one end of the measured part.
type edge struct {
	at          time.Time
	usage, self server.Usage
	machine     server.MachineTime
	received    int64
}

// start starts a host, and waits until its fleet takes game sessions.
func start(ctx context.Context, spec server.Spec) (*server.Process, error) {
	proc, err := server.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	if err := proc.AwaitFleet(ctx, spec.FleetID); err != nil {
		return nil, errors.Join(err, proc.Alive(), proc.Stop())
	}
	return proc, nil
}

// load is who plays.
type load struct {
	fleet          string
	rooms, players int // players in each
	to             loadgen.Target
}

// loaded starts a host, loads it, and ends it. Beside, if not nil, runs while the load does and is ended by its context.
func (b *bench) loaded(ctx context.Context, l load, beside func(context.Context, *server.Process) error) (s sample, err error) {
	proc, err := start(ctx, b.spec(l.fleet))
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	swarm, err := loadgen.New(loadgen.Config{Addr: proc.Announce.WS, Hz: b.Hz, PayloadBytes: b.Payload, Seed: 1, To: l.to})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, swarm.Close()) }()
	if err := proc.Fill(ctx, swarm, l.rooms*l.players, l.players); err != nil {
		return s, errors.Join(err, proc.Alive())
	}
	if beside != nil {
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- beside(ctx, proc) }()
		defer func() {
			stop()
			err = errors.Join(err, <-ended)
		}()
	}
	return b.measured(ctx, proc, swarm, loadgen.Plan{Warmup: b.Warmup, Measure: b.Measure})
}

// measured is one stretch of load on a host.
func (b *bench) measured(ctx context.Context, proc *server.Process, swarm *loadgen.Swarm, plan loadgen.Plan) (sample, error) {
	var from, to edge
	plan.Drain = drainMax
	plan.AtStart = func() error { return from.read(proc, swarm) }
	plan.AtEnd = func() error { return to.read(proc, swarm) }
	result, err := swarm.Run(ctx, plan)
	if err != nil {
		return sample{}, errors.Join(err, proc.Alive())
	}
	if lost, first := swarm.Disconnects(); lost > 0 || result.SendErrors > 0 {
		return sample{}, errors.Join(fmt.Errorf("%s: %d players lost, %d who cannot send, the first: %w", proc.Spec.Title(), lost, result.SendErrors, first), proc.Alive())
	}
	return sampleOf(proc.Spec.Title(), from, to, result), nil
}

func (e *edge) read(proc *server.Process, swarm *loadgen.Swarm) (err error) {
	e.at = time.Now()
	_, e.received = swarm.Totals()
	if e.usage, err = proc.Usage(); err != nil {
		return err
	}
	if e.self, err = server.UsageOf(os.Getpid()); err != nil {
		return err
	}
	e.machine, err = server.MachineNow()
	return err
}

func sampleOf(name string, a, b edge, load loadgen.Result) sample {
	s := sample{
		Name: name, Load: load, Took: b.at.Sub(a.at), Received: b.received - a.received,
		CPU: b.usage.CPU() - a.usage.CPU(), GeneratorCPU: b.self.CPU() - a.self.CPU(),
	}
	if total := b.machine.Total - a.machine.Total; total > 0 {
		s.OtherShare = max(float64(b.machine.Busy-a.machine.Busy-s.CPU-s.GeneratorCPU)/float64(total), 0)
	}
	return s
}

// add adds a later stretch of the same load. Of latencies the worst stay: quantiles do not add up.
func (s *sample) add(o sample) {
	if took := s.Took + o.Took; took > 0 {
		s.OtherShare = (s.OtherShare*float64(s.Took) + o.OtherShare*float64(o.Took)) / float64(took)
	}
	s.Took += o.Took
	s.CPU += o.CPU
	s.Received += o.Received
	s.GeneratorCPU += o.GeneratorCPU
	s.Load.Add(o.Load)
}

// create makes game sessions of a fleet and waits until all are ACTIVE.
func create(ctx context.Context, proc *server.Process, fleet string, n int) (ids []string, err error) {
	for range n {
		id, err := proc.CreateGameSession(ctx, fleet, 8)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		if err := proc.AwaitActive(ctx, id); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// rest waits, unless ctx ends first.
func rest(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}
