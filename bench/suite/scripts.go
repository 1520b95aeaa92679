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
			return append(r.servers(traffic{to: loadgen.ToSelf}, []served{{relayEcho, r.host()}}), r.playerOn(scriptEcho, echoFleet))
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
		lasts:       idleScriptsLast,
		subjects: func(r *run) []subject {
			return []subject{
				r.scriptedHost(plainScript, echoFleet, (*run).idleScripts),
				r.scriptedHost(utilScript, scriptFleet{id: userFleet, launch: "util.js", with: "echo.js"}, (*run).idleScripts),
			}
		},
	},
	{
		Name: "games-idle", About: "game sessions in which nobody is, without and with a script: CPU for a minute after their start, and memory",
		Params: Params{Rooms: 10_000, Rest: time.Minute, Rounds: 1},
		Goals: []result.Goal{
			{Subject: relayEcho, Figure: "cpu_cores", Plus: 0.03},
			{Subject: plainScript, Figure: "cpu_cores", Plus: 0.03},
		},
		connections: fileOfEach,
		lasts:       idleScriptsLast,
		subjects: func(r *run) []subject {
			return []subject{
				r.scriptedHost(relayEcho, scriptFleet{id: userFleet}, (*run).idleScripts),
				r.scriptedHost(plainScript, echoFleet, (*run).idleScripts),
			}
		},
	},
	{
		Name: "script-hostile", About: "each message to a script, which sends it back, while another game session's script does harm; a new one whenever the host has ended it",
		Params: Params{Rooms: 25, Players: 4, Hz: 100, Payload: 64, Warmup: warmup, Measure: 8 * time.Second, Rounds: 3},
		Goals:  hostileGoals(), subjects: (*run).besideHostile,
	},
}

// fileOfEach returns the number of open files: a game session without players has only its log open.
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

// scriptFleet is a fleet whose game sessions run a script, or relay messages.
type scriptFleet struct {
	id         string
	launch     string // file name of the script; empty: no script, unless there is one of the user
	text       string // content of the script; empty: an embedded script of the suite
	with       string // another embedded file, which the script requires
	parameters string
	own        string // the user's own file or folder, used instead of an embedded script
	perProcess int    // if not 0, the script runs in Node.js, with so many game sessions per process
}

// userFleet is the fleet of the players.
const userFleet = "fleet-script"

var echoFleet = scriptFleet{id: userFleet, launch: "echo.js"}

// line writes the script files and returns the fleet as a line of the configuration.
func (f *scriptFleet) line(dir string) (string, error) {
	head := fmt.Sprintf("- {id: %s, name: %s, gameSessionsMax: %d, ", f.id, f.id, roomsMax)
	if f.own != "" {
		path, err := filepath.Abs(f.own)
		if err != nil {
			return "", fmt.Errorf("--script: %w", err)
		}
		return head + fmt.Sprintf("script: %q}\n", path), nil
	}
	if f.launch == "" {
		return head + "}\n", nil
	}
	folder := filepath.Join(dir, "scripts", f.id)
	if f.perProcess > 0 {
		folder += "-node"
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("write script: %w", err)
	}
	if f.perProcess > 0 {
		about := fmt.Sprintf(`{"troupe": {"engine": "node", "gamesPerProcess": %d}}`, f.perProcess)
		if err := os.WriteFile(filepath.Join(folder, "package.json"), []byte(about), 0o600); err != nil {
			return "", fmt.Errorf("write script: %w", err)
		}
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

// fleets returns a host with fleets that run scripts. Players play on the first fleet. settings are additional lines of
// the configuration.
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

// playerOn returns a subject whose players send messages to the script of a fleet.
func (r *run) playerOn(name string, fleet scriptFleet) subject {
	return r.scriptedHost(name, fleet, func(r *run, ctx context.Context, spec server.Spec) (result.Round, error) {
		return r.relay(ctx, spec, traffic{to: loadgen.ToServer})
	})
}

// scriptedHost returns a subject that measures a host with one fleet.
func (r *run) scriptedHost(name string, fleet scriptFleet, measure func(*run, context.Context, server.Spec) (result.Round, error)) subject {
	return r.subject(name, r.host(), func(ctx context.Context) (result.Round, error) {
		spec, err := r.fleets(r.host(), "", fleet)
		if err != nil {
			return result.Round{}, err
		}
		return measure(r, ctx, spec)
	})
}
