package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/report"
	"troupe/bench/server"
)

// costTurn is how long one of the two is measured before it is the other's turn. What a machine gives changes over
// seconds, and from one process to the next by more than is measured.
const costTurn = time.Second

// costSettle is load before a turn: what the turn before has left behind is over then.
const costSettle = 100 * time.Millisecond

// costResult compares a message that a script sends back with one that is relayed back to its sender.
type costResult struct {
	Relay  report.Spread `json:"relay_us"`
	Script report.Spread `json:"script_us"`
	Over   report.Spread `json:"over_us"` // script less relay, of the same round
	Rounds []sample      `json:"rounds"`
	// Cores that the host and the players are kept to; none: both use all.
	HostCores   []int `json:"host_cores"`
	PlayerCores []int `json:"player_cores"`
}

// pair is the two that are compared: relay, script.
type pair [2]sample

func (b *bench) cost(ctx context.Context) (err error) {
	var r costResult
	if !b.Shared {
		r.HostCores, r.PlayerCores = server.Halves()
	}
	if r.PlayerCores != nil {
		release, kept := server.KeepTo(r.PlayerCores)
		if kept != nil {
			return kept
		}
		defer func() { err = errors.Join(err, release()) }()
	}
	var each [2][]float64
	delivered := true
	for round := range b.Rounds {
		p, err := b.costRound(ctx, r.HostCores)
		if err != nil {
			return err
		}
		for i, s := range p {
			fmt.Fprintf(os.Stderr, "cost, round %d of %d: %s\n", round+1, b.Rounds, s)
			each[i] = append(each[i], s.cpuMicros())
			delivered = delivered && s.Load.Delivered == s.Load.Expected
		}
		r.Rounds = append(r.Rounds, p[:]...)
	}
	r.compute(each[0], each[1])
	b.res.Cost = &r
	b.res.Bars.Add("CPU us of a message through a script over the relay path", b.barCost, r.Over.Median, r.Script.Known() && r.Relay.Known() && r.Over.Median <= b.barCost)
	b.res.Bars.Add("all messages delivered", 1, truth(delivered), delivered)
	return nil
}

// costRound starts a host with players in game sessions of both fleets, which play in short turns: each is measured for
// as long as the configuration says.
func (b *bench) costRound(ctx context.Context, cores []int) (sum pair, err error) {
	fleets := [2]string{fleetRelay, fleetEcho}
	spec := b.spec(fleets[1])
	spec.Cores = cores
	proc, err := start(ctx, spec)
	if err != nil {
		return sum, err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	var swarms [2]*loadgen.Swarm
	for i, to := range [2]loadgen.Target{loadgen.ToSelf, loadgen.ToServer} {
		if swarms[i], err = loadgen.New(loadgen.Config{Addr: proc.Announce.WS, Hz: b.CostHz, PayloadBytes: b.Payload, Seed: 1, To: to}); err != nil {
			return sum, err
		}
		defer func() { err = errors.Join(err, swarms[i].Close()) }()
		if err = proc.FillFleet(ctx, fleets[i], swarms[i], b.CostRooms*b.CostRoomOf, b.CostRoomOf); err != nil {
			return sum, errors.Join(err, proc.Alive())
		}
	}
	for _, swarm := range swarms {
		if _, err := b.measured(ctx, proc, swarm, loadgen.Plan{Measure: b.Warmup / 2}); err != nil {
			return sum, err
		}
	}
	for k := range 2 * max(1, int(b.Measure/costTurn)) {
		i := (k + 1) / 2 % 2 // in the order 0 1 1 0: what changes slowly is the same for both
		s, err := b.measured(ctx, proc, swarms[i], loadgen.Plan{Warmup: costSettle, Measure: costTurn})
		if err != nil {
			return sum, err
		}
		sum[i].add(s)
	}
	for i := range sum {
		sum[i].Name = fleets[i]
	}
	return sum, nil
}

func (r *costResult) compute(relay, script []float64) {
	over := make([]float64, len(script))
	for i := range script {
		over[i] = script[i] - relay[i]
	}
	r.Relay, r.Script, r.Over = report.SpreadOf(relay), report.SpreadOf(script), report.SpreadOf(over)
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
