package main

import (
	"fmt"
	"io"
	"time"

	"troupe/bench/report"
)

// noisyShare is how much of the machine others may use before a result is called noisy.
const noisyShare = 0.05

// result is what is stored. Parts that were not measured are absent.
type result struct {
	Machine report.Machine  `json:"machine"`
	Command string          `json:"command"`
	Build   string          `json:"build"`
	Config  config          `json:"config"`
	Cost    *costResult     `json:"cost,omitempty"`
	Idle    []idleResult    `json:"idle,omitempty"`
	Tick    *tickResult     `json:"tick,omitempty"`
	Hostile []hostileResult `json:"hostile,omitempty"`
	Ways    []rowResult     `json:"ways,omitempty"`
	Bars    report.Bars     `json:"bars"`
}

// print writes the figures, the bars and the warnings.
func (r *result) print(w io.Writer) {
	c := r.Config
	fmt.Fprintln(w, r.Machine)
	fmt.Fprintf(w, "troupe, %s\n", r.Build)
	if k := r.Cost; k != nil {
		fmt.Fprintf(w, "cost: %d game sessions of %d players at %g Hz, payload %d bytes; %d rounds of %v after %v\n",
			c.CostRooms, c.CostRoomOf, c.CostHz, c.Payload, c.Rounds, c.Measure, c.Warmup)
		if k.HostCores != nil {
			fmt.Fprintf(w, "  host on cores %v, players on cores %v\n", k.HostCores, k.PlayerCores)
		}
		fmt.Fprintf(w, "  CPU us per message: relay %s, script %s, script over relay %s\n", k.Relay.Format(2), k.Script.Format(2), k.Over.Format(2))
		warn(w, "cost", k.Rounds)
	}
	for _, k := range r.Idle {
		fmt.Fprintf(w, "idle, %s: %d game sessions made in %v, read after %v: %.1f MiB before, %.1f after, %.1f at its peak, %.1f KiB each, idle CPU %.1f%%\n",
			k.Fleet, c.IdleSessions, k.Create.Round(time.Millisecond), c.Settle, k.BeforeMiB, k.AfterMiB, k.PeakMiB, k.KiBPerSession, 100*k.IdleCPU)
		kind := "a full collection"
		if !k.Collection.Forced {
			kind = "the last collection that came by itself"
		}
		fmt.Fprintf(w, "  %s took %v, %v of CPU, nothing else ran for %v of that; %d MiB are alive\n", kind, k.Collection.Wall.Round(time.Millisecond/10),
			k.Collection.CPU.Round(time.Millisecond/10), k.Collection.Stopped.Round(time.Microsecond), k.Collection.LiveMiB)
	}
	if k := r.Tick; k != nil {
		fmt.Fprintf(w, "tick: %d game sessions that move %d things, %d ticks, %.2f Hz each: late p50 %.1f ms, p99 %.1f ms, p99.9 %.1f ms, %d above %g ms; host %.2f cores\n",
			c.TickSessions, c.TickThings, k.Ticks, k.PerHz, k.P50, k.P99, k.P999, k.Over, tickStep*tickSteps, k.HostCPU)
	}
	for _, k := range r.Hostile {
		fmt.Fprintf(w, "hostile: %-10s p99 %s ms, ratio %s, host CPU %s ms of %v, %d game sessions of it, %d messages lost\n",
			k.Way, k.P99.Format(2), k.Ratio.Format(2), k.HostCPU.Format(0), c.Measure, k.Hosted, k.Lost)
		warn(w, "hostile, "+k.Way, k.Rounds)
	}
	printWays(w, r.Ways)
	for _, b := range r.Bars {
		fmt.Fprintln(w, b)
	}
}

// warn names what makes a result doubtful.
func warn(w io.Writer, what string, rounds []sample) {
	var other float64
	var late time.Duration
	for _, s := range rounds {
		other, late = max(other, s.OtherShare), max(late, s.Load.Lateness.P99)
	}
	if other > noisyShare {
		fmt.Fprintf(w, "  warning: %s: noisy machine, up to %.1f%% used by others\n", what, 100*other)
	}
	if late > 5*time.Millisecond {
		fmt.Fprintf(w, "  warning: %s: the generator was up to %v late (p99)\n", what, late)
	}
}
