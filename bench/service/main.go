// Command service measures the control plane of the troupe host with its durable store: placements per second (placements),
// player sessions per second (players), a filter over many game sessions (search), and how long a host with many stored
// records takes to start (start). See the package comment of bench for how the numbers are made.
//
// It exits with 1 when a bar is missed, with 2 when it could not measure.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"troupe/bench/report"
	"troupe/bench/server"
)

// config is stored with the result.
type config struct {
	Rounds        int           `json:"rounds"`
	Measure       time.Duration `json:"measure_ns"`
	Workers       int           `json:"workers"`
	PlacementRate float64       `json:"placements_per_s"`
	PlayerRate    float64       `json:"player_sessions_per_s"`
	Found         int           `json:"search_game_sessions"`
	Searches      int           `json:"searches"`
	Records       int           `json:"records"`
}

// options is the command line.
type options struct {
	config
	troupe, parts, json                          string
	sets                                         server.SetFlag
	barPlacement, barSearch, barStart, barPlayer float64
}

// part is one thing that can be measured.
type part struct {
	name    string
	measure func(*bench, context.Context) error
}

var parts = []part{{"placements", (*bench).placements}, {"players", (*bench).players}, {"search", (*bench).search}, {"start", (*bench).start}}

func main() {
	o := parseFlags()
	report.Main("service", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func parseFlags() options {
	var o options
	flag.StringVar(&o.troupe, "troupe", "", "troupe binary (required)")
	flag.StringVar(&o.parts, "parts", "placements,players,search,start", "what to measure")
	flag.Var(&o.sets, "set", "KEY=VALUE for troupe; may be repeated")
	flag.IntVar(&o.Rounds, "rounds", 3, "rounds of placements and players, and starts")
	flag.DurationVar(&o.Measure, "measure", 10*time.Second, "load of each round")
	flag.IntVar(&o.Workers, "workers", 128, "calls under way at most")
	flag.Float64Var(&o.PlacementRate, "placements", 500, "placements per second")
	flag.Float64Var(&o.PlayerRate, "players", 2000, "CreatePlayerSession calls per second")
	flag.IntVar(&o.Found, "game-sessions", 50_000, "game sessions that are searched")
	flag.IntVar(&o.Searches, "searches", 200, "searches, one after the other")
	flag.IntVar(&o.Records, "records", 100_000, "stored records of the start")
	flag.Float64Var(&o.barPlacement, "bar-placement", 50, "p99 of a placement in ms, from the call to its event, at most")
	flag.Float64Var(&o.barPlayer, "bar-player", 50, "p99 of CreatePlayerSession in ms, at most")
	flag.Float64Var(&o.barSearch, "bar-search", 20, "p99 of a search in ms, at most")
	flag.Float64Var(&o.barStart, "bar-start", 2, "seconds from the start of the process to its announcement, at most")
	flag.StringVar(&o.json, "json", "", "file for the result")
	flag.Parse()
	return o
}

func (o options) validate() error {
	if o.troupe == "" {
		return errors.New("--troupe is required")
	}
	if min(o.Rounds, o.Workers, o.Found, o.Searches, o.Records) < 1 || o.PlacementRate <= 0 || o.PlayerRate <= 0 || o.Measure < time.Second {
		return errors.New("rounds, workers, rates and counts must be positive, measure at least 1s")
	}
	for name := range strings.SplitSeq(o.parts, ",") {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return fmt.Errorf("there is no part %q", name)
		}
	}
	return nil
}

// bench is one run.
type bench struct {
	options
	dir string // of configurations and stores
	res result
}

// hostConfig is that of a host with many places in three locations, and a queue over them.
const hostConfig = `locations: [{name: us-west-2}, {name: eu-west-1}]
fleets:
- {id: fleet-a, name: a, gameSessionsMax: 1000000, locations: [{name: us-west-2}, {name: eu-west-1}]}
aliases: [{id: alias-a, name: a, fleet: fleet-a}]
queues:
- {name: queue-a, timeout: 60s, destinations: [alias-a]}
log: {level: warn}
session: {emptyTimeout: 1h}
`

// start starts a host on a store of its own.
func (b *bench) host(ctx context.Context, store string) (*server.Process, error) {
	file := filepath.Join(b.dir, "bench.yaml")
	if err := os.WriteFile(file, []byte(hostConfig), 0o600); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	sets := append([]string{"store.path=" + filepath.Join(b.dir, store)}, b.sets...)
	return server.Start(ctx, server.Spec{Kind: server.Troupe, Bin: b.troupe, FleetID: "fleet-a", Config: file, Sets: sets})
}

// run measures, prints, stores, and says whether every bar is met.
func run(ctx context.Context, o options) (met bool, err error) {
	if err := o.validate(); err != nil {
		return false, err
	}
	b := &bench{options: o}
	b.res = result{Machine: report.ThisMachine(), Command: report.CommandLine("service", flag.CommandLine), Config: o.config}
	if b.res.Build, err = report.BuildOf(o.troupe); err != nil {
		return false, err
	}
	if b.dir, err = os.MkdirTemp("", "troupe-bench-service-"); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	wanted := strings.Split(o.parts, ",")
	for _, p := range parts {
		if !slices.Contains(wanted, p.name) {
			continue
		}
		if err := p.measure(b, ctx); err != nil {
			return false, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	b.res.print(os.Stdout)
	if o.json != "" {
		if err := report.WriteJSON(o.json, b.res); err != nil {
			return false, err
		}
	}
	return b.res.Bars.Met(), nil
}
