package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/report"
	"troupe/bench/server"
)

// restBefore lets the server's own start settle before its memory is read.
const restBefore = time.Second

// sample is one server.
type sample struct {
	Server                  string        `json:"server"`
	Build                   string        `json:"build"`
	BeforeBytes             int64         `json:"rss_before_bytes"`
	AfterBytes              int64         `json:"rss_after_bytes"`
	PeakBytes               int64         `json:"rss_peak_bytes"`
	KiBPerConnection        float64       `json:"kib_per_connection"`
	PeakKiBPerConnection    float64       `json:"peak_kib_per_connection"`
	GoroutinesPerConnection float64       `json:"goroutines_per_connection"` // -1 unknown
	IdleCPU                 float64       `json:"idle_cpu"`                  // share of one core while idle: pings, mostly
	Connect                 time.Duration `json:"connect_ns"`                // to log everybody in
}

// measure starts one server, fills it, lets it rest and reads its memory.
func measure(ctx context.Context, spec server.Spec, cfg config) (s sample, err error) {
	s = sample{Server: spec.Title()}
	if s.Build, err = report.BuildOf(spec.Bin); err != nil {
		return s, err
	}
	proc, err := server.Start(ctx, spec)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	swarm, err := loadgen.New(loadgen.Config{Addr: proc.Announce.WS})
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, swarm.Close()) }()
	if err := s.fill(ctx, proc, swarm, cfg); err != nil {
		return s, errors.Join(err, proc.Alive())
	}
	if lost, first := swarm.Disconnects(); lost > 0 {
		return s, errors.Join(fmt.Errorf("%s: %d players lost, the first: %w", s.Server, lost, first), proc.Alive())
	}
	return s, nil
}

func (s *sample) fill(ctx context.Context, proc *server.Process, swarm *loadgen.Swarm, cfg config) error {
	if err := rest(ctx, restBefore); err != nil {
		return err
	}
	countersBefore, err := proc.Counters(ctx)
	if err != nil {
		return err
	}
	before, err := proc.Usage()
	if err != nil {
		return err
	}
	start := time.Now()
	if err := proc.Fill(ctx, swarm, cfg.Connections, cfg.RoomSize); err != nil {
		return err
	}
	s.Connect = time.Since(start)
	idle, err := proc.Usage()
	if err != nil {
		return err
	}
	if err := rest(ctx, cfg.Settle); err != nil {
		return err
	}
	after, err := proc.Usage()
	if err != nil {
		return err
	}
	countersAfter, err := proc.Counters(ctx)
	if err != nil {
		return err
	}
	s.compute(before, idle, after, cfg)
	s.GoroutinesPerConnection = -1
	if countersBefore.Goroutines >= 0 && countersAfter.Goroutines >= 0 {
		s.GoroutinesPerConnection = float64(countersAfter.Goroutines-countersBefore.Goroutines) / float64(cfg.Connections)
	}
	return nil
}

func (s *sample) compute(before, idle, after server.Usage, cfg config) {
	perConnection := func(bytes int64) float64 {
		return float64(bytes-before.RSSBytes) / 1024 / float64(cfg.Connections)
	}
	s.BeforeBytes, s.AfterBytes, s.PeakBytes = before.RSSBytes, after.RSSBytes, after.PeakBytes
	s.KiBPerConnection = perConnection(after.RSSBytes)
	s.PeakKiBPerConnection = perConnection(after.PeakBytes)
	if cfg.Settle > 0 {
		s.IdleCPU = float64(after.CPU()-idle.CPU()) / float64(cfg.Settle)
	}
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
