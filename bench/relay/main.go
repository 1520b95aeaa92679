// Command relay compares what relaying a message costs in the troupe host and in the bare relay, in turns on the same
// machine under the same load. See the package comment of bench for how each number is made.
//
// With --without KEY=VALUE there is no bare relay: the host with that setting is the yardstick of the host without it, for
// example --numbered --without reconnect.acknowledge=false for the cost of numbers and acknowledgements.
//
// It exits with 1 when a bar is missed, with 2 when it could not measure. Without --troupe it measures the bare relay
// alone; with --self it measures the bare relay against itself, which shows how much of a ratio is noise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"time"

	"troupe/bench/report"
	"troupe/bench/server"
)

// config is the load and how often it is repeated; it is stored with the result.
type config struct {
	Rooms   int     `json:"rooms"`
	Players int     `json:"players"`
	Hz      float64 `json:"hz"`
	Payload int     `json:"payload_bytes"`
	// Numbered players speak the extension.
	Numbered bool          `json:"numbered"`
	Seed     uint64        `json:"seed"`
	Rounds   int           `json:"rounds"`
	Warmup   time.Duration `json:"warmup_ns"`
	Measure  time.Duration `json:"measure_ns"`
}

// options is the command line.
type options struct {
	config
	bare, troupe, fleet, json string
	sets                      server.SetFlag
	without                   string
	self                      bool
	barRatio, barAllocs       float64
}

func main() {
	o := parseFlags()
	report.Main("relay", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func parseFlags() options {
	var o options
	flag.IntVar(&o.Rooms, "rooms", 25, "rooms")
	flag.IntVar(&o.Players, "players", 8, "players in each room")
	flag.Float64Var(&o.Hz, "hz", 20, "messages per second and player")
	flag.IntVar(&o.Payload, "payload", 64, "payload bytes")
	flag.Uint64Var(&o.Seed, "seed", 1, "seed of the send times")
	flag.IntVar(&o.Rounds, "rounds", 3, "rounds; the order of the servers is swapped every round")
	flag.DurationVar(&o.Warmup, "warmup", 10*time.Second, "load before measuring; below 6s what waits for its confirmation still grows")
	flag.DurationVar(&o.Measure, "measure", 10*time.Second, "measured load of each server in each round")
	flag.StringVar(&o.bare, "bare", "", "bare relay binary (required)")
	flag.StringVar(&o.troupe, "troupe", "", "troupe binary; empty = bare relay only")
	flag.StringVar(&o.fleet, "fleet", "fleet-dev", "fleet of the game sessions")
	flag.Var(&o.sets, "set", "KEY=VALUE for troupe; may be repeated")
	flag.StringVar(&o.without, "without", "", "KEY=VALUE that switches off what is to be measured; replaces the bare relay")
	flag.BoolVar(&o.Numbered, "numbered", false, "players speak the extension: numbers and acknowledgements")
	flag.BoolVar(&o.self, "self", false, "measure the bare relay against itself")
	flag.Float64Var(&o.barRatio, "bar-ratio", 1.25, "CPU per delivered message, at most this many times the bare relay's")
	flag.Float64Var(&o.barAllocs, "bar-allocs", 0.01, "allocations per delivered message, below this")
	flag.StringVar(&o.json, "json", "", "file for the result")
	flag.Parse()
	return o
}

func (o options) validate() error {
	if (o.bare == "") == (o.without == "") {
		return errors.New("either --bare or --without is required")
	}
	if o.without != "" && o.troupe == "" {
		return errors.New("--without needs --troupe")
	}
	if o.self && o.troupe != "" {
		return errors.New("--self and --troupe exclude each other")
	}
	if o.Rooms < 1 || o.Players < 1 || o.Hz <= 0 || o.Rounds < 1 || o.Measure < 100*time.Millisecond {
		return errors.New("rooms, players, hz and rounds must be positive, measure at least 100ms")
	}
	return nil
}

// servers lists what is measured; the first is the yardstick.
func (o options) servers() []server.Spec {
	if o.without != "" {
		return []server.Spec{
			{Name: "troupe, " + o.without, Kind: server.Troupe, Bin: o.troupe, FleetID: o.fleet, Sets: append(slices.Clone(o.sets), o.without)},
			{Kind: server.Troupe, Bin: o.troupe, FleetID: o.fleet, Sets: o.sets},
		}
	}
	specs := []server.Spec{{Kind: server.Bare, Bin: o.bare}}
	if o.self {
		specs = append(specs, server.Spec{Name: "bare again", Kind: server.Bare, Bin: o.bare})
	}
	if o.troupe != "" {
		specs = append(specs, server.Spec{Kind: server.Troupe, Bin: o.troupe, FleetID: o.fleet, Sets: o.sets})
	}
	return specs
}

// run measures, prints, stores, and says whether every bar is met.
func run(ctx context.Context, o options) (met bool, err error) {
	if err := o.validate(); err != nil {
		return false, err
	}
	specs := o.servers()
	res := result{Machine: report.ThisMachine(), Command: report.CommandLine("relay", flag.CommandLine), Config: o.config}
	for _, spec := range specs {
		build, err := report.BuildOf(spec.Bin)
		if err != nil {
			return false, err
		}
		res.Servers = append(res.Servers, summary{Server: spec.Title(), Build: build})
	}
	for round := range o.Rounds {
		for turn := range specs {
			i := turn
			if round%2 == 1 {
				i = len(specs) - 1 - turn
			}
			s, err := measure(ctx, specs[i], o.config)
			if err != nil {
				return false, fmt.Errorf("round %d: %w", round+1, err)
			}
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.Rounds, s)
			res.Servers[i].Rounds = append(res.Servers[i].Rounds, s)
		}
	}
	res.summarise(o)
	res.print(os.Stdout)
	if o.json != "" {
		if err := report.WriteJSON(o.json, res); err != nil {
			return false, err
		}
	}
	return res.Bars.Met(), nil
}
