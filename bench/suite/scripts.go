package suite

import (
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

var scriptWorkloads = []Workload{
	{
		Name: "script-echo", About: "each message to a script, which sends it back; beside messages that are relayed back to their sender",
		Params: Params{Rooms: 25, Players: 8, Hz: 140, Payload: 64, Warmup: warmup, Measure: 8 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: scriptEcho, Figure: "cpu_us", Over: relayEcho, Times: 1, Plus: 6},
			{Subject: scriptEcho, Figure: "delivered_share", Plus: 1, AtLeast: true},
		},
		subjects: func(r *run) []subject {
			return []subject{r.player(relayEcho, r.host(), traffic{to: loadgen.ToSelf}), r.playerOn(scriptEcho, loadgen.ToServer, echoFleet)}
		},
	},
	{
		Name: "script-tick", About: "scripts that tick 20 times a second and move a few things: how late the ticks are, as the scripts tell",
		Params: Params{Rooms: 500, Warmup: 5 * time.Second, Measure: 10 * time.Second, Rounds: 1},
		Goals: []result.Goal{
			{Subject: host, Figure: "tick_p99_ms", Plus: 10},
			{Subject: host, Figure: "ticks_per_s", Plus: 19, AtLeast: true},
		},
		connections: fileOfEach,
		subjects: func(r *run) []subject {
			return []subject{r.scriptedHost(host, (*run).ticks, scriptFleet{id: userFleet, launch: "tick.js", parameters: fmt.Sprint(tickThings, r.tickReport().Milliseconds())})}
		},
	},
	{
		Name: "script-idle", About: "game sessions that run a script, in which nobody is: memory, and what a full collection of it takes",
		Params: Params{Rooms: 2000, Rest: 10 * time.Second, Rounds: 1},
		Goals: []result.Goal{
			{Subject: plainScript, Figure: "resident_mib", Plus: 270},
			{Subject: utilScript, Figure: "resident_mib", Plus: 400},
		},
		connections: fileOfEach,
		lasts:       func(p Params) time.Duration { return aboutStart + time.Duration(p.Rooms)*5*time.Millisecond + p.Rest },
		subjects: func(r *run) []subject {
			return []subject{
				r.scriptedHost(plainScript, (*run).idleScripts, echoFleet),
				r.scriptedHost(utilScript, (*run).idleScripts, scriptFleet{id: userFleet, launch: "util.js", with: "echo.js"}),
			}
		},
	},
	{
		Name: "script-hostile", About: "each message to a script, which sends it back, while another game session's script does harm; a new one whenever the host has ended it",
		Params: Params{Rooms: 25, Players: 4, Hz: 100, Payload: 64, Warmup: warmup, Measure: 8 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: "loop", Figure: "p99_ms", Over: alone, Times: besideTimes},
			{Subject: "allocation", Figure: "p99_ms", Over: alone, Times: besideTimes},
			{Subject: "recursion", Figure: "p99_ms", Over: alone, Times: besideTimes},
			{Subject: "loop", Figure: "delivered_share", Plus: 1, AtLeast: true},
			{Subject: "allocation", Figure: "delivered_share", Plus: 1, AtLeast: true},
			{Subject: "recursion", Figure: "delivered_share", Plus: 1, AtLeast: true},
		},
		subjects: (*run).besideHostile,
	},
	{
		Name: "hostile-scripts", About: "each hostile script that the engine is tested with, beside another game: the host is healthy, the script's game session ends and says where, and the other game goes on: its p99 is at most 2 ms, or 1.5 times what it is without, in the median of three if it is not the first time",
		Params: Params{Rooms: 1, Players: 8, Hz: 20, Payload: 64, Measure: 4 * time.Second, Rounds: 1},
		Goals:  []result.Goal{{Subject: host, Figure: "uncontained"}},
		quick:  func(p *Params) { p.Measure = time.Second },
		lasts:  func(p Params) time.Duration { return 56 * 2 * p.Measure },
		subjects: func(r *run) []subject {
			return []subject{{name: host, build: r.buildOf(r.host()), measure: r.eachHostile}}
		},
	},
	{
		Name: "nakama-match", About: "Nakama's documented authoritative match: 10 ticks per second, at most 10 players, what came since the last tick to all of them",
		Params: Params{Rooms: 50, Players: 10, Hz: 5, Payload: 64, Warmup: warmup, Measure: 8 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: host, Figure: "p99_ms", Plus: 150}, // a tick, and half of one
			{Subject: host, Figure: "delivered_share", Plus: 1, AtLeast: true},
		},
		subjects: func(r *run) []subject {
			return []subject{r.playerOn(host, loadgen.ToScript, scriptFleet{id: userFleet, launch: "match.js"})}
		},
	},
}

// fileOfEach: a game session without players has its log open.
func fileOfEach(p Params) int { return p.Rooms }

// Names of subjects.
const (
	relayEcho   = "relay"
	scriptEcho  = "script"
	plainScript = "plain"
	utilScript  = "with util"
)

//go:embed scripts/*.js
var scripts embed.FS

// scriptFleet is a fleet of a host whose game sessions run a script.
type scriptFleet struct {
	id         string
	launch     string // file of the script
	text       string // its content; empty: it is one of the suite's
	with       string // another file of the suite's that it requires
	parameters string
	own        string // file or folder of the user's, instead of the suite's
}

// userFleet is the fleet that players play on.
const userFleet = "fleet-script"

var echoFleet = scriptFleet{id: userFleet, launch: "echo.js"}

// line is the fleet in a configuration. The files are written.
func (f *scriptFleet) line(dir string) (string, error) {
	head := fmt.Sprintf("- {id: %s, name: %s, gameSessionsMax: %d, ", f.id, f.id, roomsMax)
	if f.own != "" {
		path, err := filepath.Abs(f.own)
		if err != nil {
			return "", fmt.Errorf("--script: %w", err)
		}
		return head + fmt.Sprintf("script: %q}\n", path), nil
	}
	folder := filepath.Join(dir, "scripts", f.id)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("write script: %w", err)
	}
	for _, name := range []string{f.launch, f.with} {
		text := []byte(f.text)
		if name == "" {
			continue
		}
		if len(text) == 0 {
			var err error
			if text, err = scripts.ReadFile("scripts/" + name); err != nil {
				return "", fmt.Errorf("write script: %w", err)
			}
		}
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return "", fmt.Errorf("write script: %w", err)
		}
	}
	return head + fmt.Sprintf("script: %q, launchPath: %s, launchParameters: %q}\n", folder, f.launch, f.parameters), nil
}

// fleets is a host with fleets that run scripts; players play on the first. settings are further lines of the configuration.
func (r *run) fleets(spec server.Spec, settings string, all ...scriptFleet) (_ server.Spec, err error) {
	spec.FleetID = all[0].id
	var text strings.Builder
	text.WriteString("fleets:\n")
	for _, f := range all {
		line, err := f.line(r.dir)
		if err != nil {
			return spec, err
		}
		text.WriteString(line)
	}
	text.WriteString("aliases: []\n" + settings)
	spec.Config, err = r.file("scripts.yaml", text.String())
	return spec, err
}

// playerOn is a subject whose players play on the first fleet of a host.
func (r *run) playerOn(name string, to loadgen.Target, fleets ...scriptFleet) subject {
	return subject{name: name, build: r.buildOf(r.host()), measure: func(ctx context.Context) (result.Round, error) {
		spec, err := r.fleets(r.host(), "", fleets...)
		if err != nil {
			return result.Round{}, err
		}
		return r.relay(ctx, spec, traffic{to: to})
	}}
}

// scriptedHost is a subject without players.
func (r *run) scriptedHost(name string, measure func(*run, context.Context, server.Spec) (result.Round, error), fleets ...scriptFleet) subject {
	return subject{name: name, build: r.buildOf(r.host()), measure: func(ctx context.Context) (result.Round, error) {
		spec, err := r.fleets(r.host(), "", fleets...)
		if err != nil {
			return result.Round{}, err
		}
		return measure(r, ctx, spec)
	}}
}
