package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"troupe/bench/server"
)

// idleResult is the memory of game sessions in which nothing happens.
type idleResult struct {
	Fleet         string        `json:"fleet"`
	BeforeMiB     float64       `json:"before_mib"`
	AfterMiB      float64       `json:"after_mib"`
	PeakMiB       float64       `json:"peak_mib"`
	KiBPerSession float64       `json:"kib_per_session"`
	IdleCPU       float64       `json:"idle_cpu"` // share of one core
	Create        time.Duration `json:"create_ns"`

	Collection server.Collection `json:"collection"`
}

const mib = 1 << 20

func (b *bench) idle(ctx context.Context) error {
	for _, f := range []struct {
		fleet string
		bar   float64
	}{{fleetEcho, b.barIdle}, {fleetUtil, b.barUtil}} {
		if err := b.idleOf(ctx, f.fleet, f.bar); err != nil {
			return err
		}
	}
	return nil
}

// idleOf measures the game sessions of one fleet.
func (b *bench) idleOf(ctx context.Context, fleet string, bar float64) (err error) {
	spec := b.spec(fleet)
	spec.Env = append(spec.Env, server.TraceCollections)
	proc, err := start(ctx, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	if err := rest(ctx, time.Second); err != nil {
		return err
	}
	before, err := proc.Usage()
	if err != nil {
		return err
	}
	start := time.Now()
	if _, err := create(ctx, proc, fleet, b.IdleSessions); err != nil {
		return errors.Join(err, proc.Alive())
	}
	took := time.Since(start)
	filled, err := proc.Usage()
	if err != nil {
		return err
	}
	if err := rest(ctx, b.Settle); err != nil {
		return err
	}
	after, err := proc.Usage()
	if err != nil {
		return err
	}
	r := idleResult{
		Fleet:     proc.Spec.Title(),
		BeforeMiB: float64(before.RSSBytes) / mib, AfterMiB: float64(after.RSSBytes) / mib, PeakMiB: float64(after.PeakBytes) / mib,
		KiBPerSession: float64(after.RSSBytes-before.RSSBytes) / 1024 / float64(b.IdleSessions), Create: took,
	}
	if b.Settle > 0 {
		r.IdleCPU = float64(after.CPU()-filled.CPU()) / float64(b.Settle)
	}
	if r.Collection, err = proc.Collect(ctx); err != nil { // an older build
		fmt.Fprintln(os.Stderr, "idle:", err)
	}
	fmt.Fprintf(os.Stderr, "idle, %s: %.0f MiB with %d game sessions, made in %v\n", r.Fleet, r.AfterMiB, b.IdleSessions, took.Round(time.Millisecond))
	b.res.Idle = append(b.res.Idle, r)
	b.res.Bars.Add(fmt.Sprintf("resident MiB with %d idle scripted game sessions, %s", b.IdleSessions, r.Fleet), bar, r.AfterMiB, r.AfterMiB <= bar)
	return nil
}
