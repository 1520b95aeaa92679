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

// sample is one round of one server. Deltas are over the measured part.
type sample struct {
	Server          string         `json:"server"`
	User            time.Duration  `json:"user_ns"`
	System          time.Duration  `json:"system_ns"`
	Received        int64          `json:"received"`         // by the clients; what costs are divided by
	Sent            int64          `json:"sent"`             // by the clients
	ServerDelivered int64          `json:"server_delivered"` // by the server's own count, -1 unknown
	Mallocs         int64          `json:"mallocs"`          // less the cost of reading them, -1 unknown
	Switches        int64          `json:"context_switches"`
	RSSBytes        int64          `json:"rss_bytes"` // at the end
	GeneratorCPU    time.Duration  `json:"generator_cpu_ns"`
	OtherShare      float64        `json:"other_share"` // of the machine: busy, but neither server nor generator
	StealShare      float64        `json:"steal_share"` // of the machine: taken by the hypervisor
	Load            loadgen.Result `json:"load"`
}

// per divides by a count of messages; unknown or impossible is NaN.
func per(value float64, messages int64) float64 {
	if value < 0 || messages <= 0 {
		return math.NaN()
	}
	return value / float64(messages)
}

// cpuMicros is the server's CPU time per delivered message.
func (s sample) cpuMicros() float64 {
	return per(float64(s.User+s.System)/float64(time.Microsecond), s.Received)
}

func (s sample) mallocsPerDelivered() float64  { return per(float64(s.Mallocs), s.Received) }
func (s sample) mallocsPerInbound() float64    { return per(float64(s.Mallocs), s.Sent) }
func (s sample) switchesPerDelivered() float64 { return per(float64(s.Switches), s.Received) }

// String is one line of progress.
func (s sample) String() string {
	return fmt.Sprintf("%-10s %6.2f us/delivered, %d of %d, %s, other %.1f%%, steal %.1f%%", s.Server, s.cpuMicros(),
		s.Load.Delivered, s.Load.Expected, s.Load.Latency, 100*s.OtherShare, 100*s.StealShare)
}

// edge is everything read at one end of the measured part.
type edge struct {
	usage, self    server.Usage
	machine        server.MachineTime
	sent, received int64
	counters       server.Counters
}

// measure starts one server, loads it, and ends it.
func measure(ctx context.Context, spec server.Spec, cfg config) (s sample, err error) {
	proc, err := server.Start(ctx, spec)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	swarm, err := loadgen.New(loadgen.Config{Addr: proc.Announce.WS, Hz: cfg.Hz, PayloadBytes: cfg.Payload, Seed: cfg.Seed, Numbered: cfg.Numbered})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, swarm.Close()) }()
	if err := proc.Fill(ctx, swarm, cfg.Rooms*cfg.Players, cfg.Players); err != nil {
		return s, err
	}
	m := meter{ctx: ctx, proc: proc, swarm: swarm}
	load, err := swarm.Run(ctx, loadgen.Plan{
		Warmup: cfg.Warmup, Measure: cfg.Measure, Drain: drainMax, AtStart: m.atStart, AtEnd: m.atEnd,
	})
	if err != nil {
		return s, errors.Join(err, proc.Alive())
	}
	if lost, first := swarm.Disconnects(); lost > 0 {
		return s, errors.Join(fmt.Errorf("%s: %d players lost, the first: %w", spec.Title(), lost, first), proc.Alive())
	}
	return m.sample(load), nil
}

// meter reads both ends. What is expensive for the server, reading its counters, lies outside the CPU window.
type meter struct {
	ctx        context.Context
	proc       *server.Process
	swarm      *loadgen.Swarm
	start, end edge
	scrapeCost int64
}

func (m *meter) atStart() (err error) {
	if m.start.counters, err = m.proc.Counters(m.ctx); err != nil {
		return err
	}
	return m.read(&m.start)
}

func (m *meter) atEnd() (err error) {
	if err = m.read(&m.end); err != nil {
		return err
	}
	if m.end.counters, err = m.proc.Counters(m.ctx); err != nil {
		return err
	}
	m.scrapeCost, err = m.proc.ScrapeCost(m.ctx)
	return err
}

func (m *meter) read(e *edge) (err error) {
	e.sent, e.received = m.swarm.Totals()
	if e.usage, err = m.proc.Usage(); err != nil {
		return err
	}
	if e.self, err = server.UsageOf(os.Getpid()); err != nil {
		return err
	}
	e.machine, err = server.MachineNow()
	return err
}

// sample takes the differences.
func (m *meter) sample(load loadgen.Result) sample {
	a, b := m.start, m.end
	s := sample{
		Server:          m.proc.Spec.Title(),
		User:            b.usage.User - a.usage.User,
		System:          b.usage.System - a.usage.System,
		Received:        b.received - a.received,
		Sent:            b.sent - a.sent,
		ServerDelivered: -1,
		Mallocs:         -1,
		Switches:        b.usage.Switches() - a.usage.Switches(),
		RSSBytes:        b.usage.RSSBytes,
		GeneratorCPU:    b.self.CPU() - a.self.CPU(),
		Load:            load,
	}
	if a.counters.Delivered >= 0 && b.counters.Delivered >= 0 {
		s.ServerDelivered = b.counters.Delivered - a.counters.Delivered
	}
	if a.counters.Mallocs >= 0 && b.counters.Mallocs >= 0 {
		s.Mallocs = max(b.counters.Mallocs-a.counters.Mallocs-m.scrapeCost, 0)
	}
	if total := b.machine.Total - a.machine.Total; total > 0 {
		other := b.machine.Busy - a.machine.Busy - s.User - s.System - s.GeneratorCPU
		s.OtherShare = max(float64(other)/float64(total), 0)
		s.StealShare = float64(b.machine.Steal-a.machine.Steal) / float64(total)
	}
	return s
}
