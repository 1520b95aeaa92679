// Command script measures what game scripts cost in the troupe host, in five parts: the CPU of a message through a script
// over that of a relayed one (cost), the memory of idle scripted game sessions (idle), how late scripts tick (tick), what
// the players of other game sessions notice of a hostile script (hostile), and what each hostile script that the engine is
// tested with does to a host and to another game in it (ways). See the package comment of bench for how each number is made.
//
// It exits with 1 when a bar is missed, with 2 when it could not measure.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/bench/report"
	"troupe/bench/server"
)

// config is stored with the result.
type config struct {
	Engine        string        `json:"engine"`
	Rounds        int           `json:"rounds"`
	Warmup        time.Duration `json:"warmup_ns"`
	Measure       time.Duration `json:"measure_ns"`
	Payload       int           `json:"payload_bytes"`
	Hz            float64       `json:"hz"`
	CostRooms     int           `json:"cost_rooms"`
	CostRoomOf    int           `json:"cost_room_of"`
	CostHz        float64       `json:"cost_hz"`
	Shared        bool          `json:"shared"`
	IdleSessions  int           `json:"idle_sessions"`
	Settle        time.Duration `json:"settle_ns"`
	TickSessions  int           `json:"tick_sessions"`
	TickThings    int           `json:"tick_things"`
	HostileRooms  int           `json:"hostile_rooms"`
	HostileRoomOf int           `json:"hostile_room_of"`
}

// options is the command line.
type options struct {
	config
	troupe, json, parts, ways, table               string
	sets                                           server.SetFlag
	barCost, barIdle, barUtil, barTick, barHostile float64
}

// part is one of the five.
type part struct {
	name    string
	measure func(*bench, context.Context) error
}

// parts in the order in which they are measured.
var parts = []part{{"cost", (*bench).cost}, {"idle", (*bench).idle}, {"tick", (*bench).tick}, {"hostile", (*bench).hostile}, {"ways", (*bench).eachWay}}

func main() {
	o := parseFlags()
	report.Main("script", func(ctx context.Context) (bool, error) { return run(ctx, o) })
}

func parseFlags() options {
	var o options
	flag.StringVar(&o.troupe, "troupe", "", "troupe binary (required)")
	flag.StringVar(&o.Engine, "engine", "", "engine of the scripts; empty = the default")
	flag.StringVar(&o.parts, "parts", "cost,idle,tick,hostile", "what to measure; ways, too: each row of the table beside another game")
	flag.StringVar(&o.ways, "ways", strings.Join(hostileWays[:3], ","), "ways to be hostile, of "+strings.Join(hostileWays, ","))
	flag.StringVar(&o.table, "table", "", "file with the table of hostile scripts, for the part ways")
	flag.Var(&o.sets, "set", "KEY=VALUE for troupe; may be repeated")
	flag.IntVar(&o.Rounds, "rounds", 5, "rounds of cost and hostile; every second one is in the opposite order")
	flag.DurationVar(&o.Warmup, "warmup", 5*time.Second, "load before measuring")
	flag.DurationVar(&o.Measure, "measure", 10*time.Second, "measured load, each time")
	flag.IntVar(&o.Payload, "payload", 64, "payload bytes")
	flag.Float64Var(&o.Hz, "hz", 100, "messages per second and player beside a hostile script")
	flag.IntVar(&o.CostRooms, "cost-rooms", 25, "game sessions that measure the cost")
	flag.IntVar(&o.CostRoomOf, "cost-players", 8, "players in each of them")
	flag.Float64Var(&o.CostHz, "cost-hz", 140, "messages per second and player that measure the cost; with few the cost of waking an idle host is larger than what is measured")
	flag.BoolVar(&o.Shared, "shared", false, "measure the cost with the host and the players on the same cores")
	flag.IntVar(&o.IdleSessions, "idle-sessions", 2000, "idle scripted game sessions")
	flag.DurationVar(&o.Settle, "settle", 10*time.Second, "idle time before memory is read")
	flag.IntVar(&o.TickSessions, "tick-sessions", 500, "game sessions that tick at 20 Hz")
	flag.IntVar(&o.TickThings, "tick-things", 4, "things that a tick moves")
	flag.IntVar(&o.HostileRooms, "hostile-rooms", 25, "scripted game sessions beside the hostile one")
	flag.IntVar(&o.HostileRoomOf, "hostile-players", 4, "players in each of them")
	flag.Float64Var(&o.barCost, "bar-cost", 6, "CPU us of a message through a script over the relay path, at most")
	flag.Float64Var(&o.barIdle, "bar-idle", 270, "resident MiB with the idle game sessions, at most")
	flag.Float64Var(&o.barUtil, "bar-idle-util", 400, "the same of scripts with a module of Node's")
	flag.Float64Var(&o.barTick, "bar-tick", 10, "p99 lateness of a tick in ms, below this")
	flag.Float64Var(&o.barHostile, "bar-hostile", 1.5, "p99 beside a hostile script, at most this many times that without")
	flag.StringVar(&o.json, "json", "", "file for the result")
	flag.Parse()
	return o
}

func (o options) validate() error {
	if o.troupe == "" {
		return errors.New("--troupe is required")
	}
	if min(o.Rounds, o.CostRooms, o.CostRoomOf, o.IdleSessions, o.TickSessions, o.HostileRooms, o.HostileRoomOf) < 1 || min(o.Hz, o.CostHz) <= 0 || o.Measure < time.Second {
		return errors.New("rounds, rooms, game sessions, players and hz must be positive, measure at least 1s")
	}
	for name := range strings.SplitSeq(o.parts, ",") {
		if !slices.ContainsFunc(parts, func(p part) bool { return p.name == name }) {
			return fmt.Errorf("there is no part %q", name)
		}
	}
	for way := range strings.SplitSeq(o.ways, ",") {
		if !slices.Contains(hostileWays, way) {
			return fmt.Errorf("there is no way %q to be hostile", way)
		}
	}
	return nil
}

// bench is one run.
type bench struct {
	options
	dir string // of the scripts and the configuration
	res result
}

//go:embed scripts
var scripts embed.FS

// Fleets of the configuration.
const (
	fleetRelay = "fleet-relay"
	fleetEcho  = "fleet-echo"
	fleetUtil  = "fleet-util" // echo, with a module of Node's
	fleetTick  = "fleet-tick"
)

// hostileWays are those of reliability.md 6 that end, or that the host can end: a hostile fleet has the way as its launch
// parameter. What is in a built-in that nobody can interrupt keeps a core until the process is replaced (docs/scripts).
var hostileWays = []string{"loop", "allocation", "recursion", "finally", "sort", "proxy", "promises", "regexp", "source", "json"}

func hostileFleet(way string) string { return "fleet-" + way }

// prepare writes the scripts and the configuration of a host that runs them.
func (b *bench) prepare() error {
	if err := os.CopyFS(b.dir, scripts); err != nil {
		return fmt.Errorf("write scripts: %w", err)
	}
	var c strings.Builder
	fmt.Fprintf(&c, "fleets:\n- {id: %s, name: relay, gameSessionsMax: 10000}\n", fleetRelay)
	scripted := func(id, path, parameters string) {
		fmt.Fprintf(&c, "- {id: %s, name: %s, gameSessionsMax: 10000, script: %q, launchPath: %s, launchParameters: %q", id, id, filepath.Join(b.dir, "scripts"), path, parameters)
		if b.Engine != "" {
			fmt.Fprintf(&c, ", engine: %s", b.Engine)
		}
		c.WriteString("}\n")
	}
	scripted(fleetEcho, "echo.js", "")
	scripted(fleetUtil, "util.js", "")
	scripted(fleetTick, "tick.js", strconv.Itoa(b.TickThings))
	for _, way := range hostileWays {
		scripted(hostileFleet(way), "hostile.js", way)
	}
	c.WriteString("aliases: []\n")
	if err := os.WriteFile(b.configFile(), []byte(c.String()), 0o600); err != nil {
		return fmt.Errorf("write configuration: %w", err)
	}
	return nil
}

func (b *bench) configFile() string { return filepath.Join(b.dir, "bench.yaml") }

// spec is a host whose rooms are game sessions of a fleet.
func (b *bench) spec(fleet string) server.Spec {
	return server.Spec{Name: strings.TrimPrefix(fleet, "fleet-"), Kind: server.Troupe, Bin: b.troupe, FleetID: fleet, Config: b.configFile(), Sets: b.sets}
}

// run measures, prints, stores, and says whether every bar is met.
func run(ctx context.Context, o options) (met bool, err error) {
	if err := o.validate(); err != nil {
		return false, err
	}
	b := &bench{options: o}
	b.res = result{Machine: report.ThisMachine(), Command: report.CommandLine("script", flag.CommandLine), Config: o.config}
	if b.res.Build, err = report.BuildOf(o.troupe); err != nil {
		return false, err
	}
	if b.dir, err = os.MkdirTemp("", "troupe-bench-script-"); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := b.prepare(); err != nil {
		return false, err
	}
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
