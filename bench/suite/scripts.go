package suite

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

//go:embed scripts/echo.js
var echoScript string

//go:embed scripts/match.js
var matchScript string

var scriptWorkloads = []Workload{
	{
		Name: "script-echo", About: "each message to a script, which sends it back; beside messages that are relayed back to their sender",
		Params: Params{Rooms: 25, Players: 8, Hz: 140, Payload: 64, Warmup: warmup, Measure: 8 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: scriptEcho, Figure: "cpu_us", Over: relayEcho, Times: 1, Plus: 8},
			{Subject: scriptEcho, Figure: "delivered_share", Plus: 1, AtLeast: true},
		},
		subjects: func(r *run) []subject {
			return []subject{
				r.relayedBack(relayEcho, loadgen.ToSelf, ""), r.relayedBack(scriptEcho, loadgen.ToServer, echoScript),
			}
		},
	},
	{
		Name: "nakama-match", About: "Nakama's documented authoritative match: 10 ticks per second, at most 10 players, what came since the last tick to all of them",
		Params: Params{Rooms: 50, Players: 10, Hz: 5, Payload: 64, Warmup: warmup, Measure: 8 * time.Second, Rounds: 3},
		Goals: []result.Goal{
			{Subject: host, Figure: "p99_ms", Plus: 150}, // a tick, and half of one
			{Subject: host, Figure: "delivered_share", Plus: 1, AtLeast: true},
		},
		subjects: func(r *run) []subject { return []subject{r.relayedBack(host, loadgen.ToScript, matchScript)} },
	},
}

const (
	relayEcho  = "relay"
	scriptEcho = "script"
)

// relayedBack is a host whose game sessions run one of the suite's own scripts, or none.
func (r *run) relayedBack(name string, to loadgen.Target, script string) subject {
	return subject{name: name, build: r.buildOf(r.host()), measure: func(ctx context.Context) (result.Round, error) {
		spec := r.host()
		if script != "" {
			var err error
			if spec, err = r.withScript(spec, name, script); err != nil {
				return result.Round{}, err
			}
		}
		return r.relay(ctx, spec, traffic{to: to})
	}}
}

// withScript is a host whose fleet runs a script of the suite.
func (r *run) withScript(spec server.Spec, name, script string) (server.Spec, error) {
	folder := filepath.Join(r.dir, "script-"+fileName(name))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return spec, fmt.Errorf("write script: %w", err)
	}
	path := filepath.Join(folder, "script.js")
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		return spec, fmt.Errorf("write script: %w", err)
	}
	return r.scripted(spec, path)
}
