package main

import (
	"context"
	"fmt"
	"os"

	"troupe/bench/loadgen"
	"troupe/bench/report"
)

// costResult compares a message that a script sends back with one that is relayed back to its sender.
type costResult struct {
	Relay  report.Spread `json:"relay_us"`
	Script report.Spread `json:"script_us"`
	Over   report.Spread `json:"over_us"` // script less relay, of the same round
	Rounds []sample      `json:"rounds"`
}

func (b *bench) cost(ctx context.Context) error {
	loads := []load{
		{fleet: fleetRelay, rooms: b.CostRooms, players: b.CostRoomOf, to: loadgen.ToSelf},
		{fleet: fleetEcho, rooms: b.CostRooms, players: b.CostRoomOf, to: loadgen.ToServer},
	}
	var r costResult
	var each [2][]float64
	delivered := true
	for round := range b.Rounds {
		for turn := range loads {
			i := turn
			if round%2 == 1 {
				i = len(loads) - 1 - turn
			}
			s, err := b.loaded(ctx, loads[i], nil)
			if err != nil {
				return err
			}
			fmt.Fprintf(os.Stderr, "cost, round %d of %d: %s\n", round+1, b.Rounds, s)
			r.Rounds = append(r.Rounds, s)
			each[i] = append(each[i], s.cpuMicros())
			delivered = delivered && s.Load.Delivered == s.Load.Expected
		}
	}
	r.compute(each[0], each[1])
	b.res.Cost = &r
	b.res.Bars.Add("CPU us of a message through a script over the relay path", b.barCost, r.Over.Median, r.Script.Known() && r.Relay.Known() && r.Over.Median <= b.barCost)
	b.res.Bars.Add("all messages delivered", 1, truth(delivered), delivered)
	return nil
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
