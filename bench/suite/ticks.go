package suite

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

// ticksPerSecond is what scripts/ticks.js and the room of Colyseus send to each player.
const ticksPerSecond = 20

var tickWorkloads = []Workload{ticking(100), ticking(250,
	result.Goal{Subject: host, Figure: "cpu_tick_us", Over: colyseus, Times: 1.7},
	result.Goal{Subject: host, Figure: "ticks_share", Plus: 0.99, AtLeast: true},
	result.Goal{Subject: host, Figure: "gap_p99_ms", Plus: 70},
	result.Goal{Subject: host, Figure: "resident_mib", Plus: 220},
), ticking(500,
	result.Goal{Subject: inNode, Figure: "cpu_tick_us", Over: colyseus, Times: 1.2},
	result.Goal{Subject: inNode, Figure: "ticks_share", Over: colyseus, Times: 1, AtLeast: true},
	result.Goal{Subject: inNode, Figure: "resident_mib", Over: colyseus, Times: 1.5},
)}

// inNode is the subject whose games run in Node.js, 50 in a process.
const inNode = "node"

// ticking returns a workload of games with ticks, in which each player sends some inputs.
func ticking(rooms int, goals ...result.Goal) Workload {
	return Workload{
		Name:   fmt.Sprintf("ticks-%d", rooms),
		About:  fmt.Sprintf("%d games whose script moves eight entities and sends them to its players, 20 times a second; players send inputs", rooms),
		Params: Params{Rooms: rooms, Players: 4, Hz: 5, Payload: 16, Warmup: warmup, Measure: 10 * time.Second, Rounds: 3},
		Goals:  goals, Script: true,
		subjects: func(r *run) []subject {
			fleet := scriptFleet{id: userFleet, launch: "ticks.js", own: r.o.Script}
			all := []subject{r.scriptedHost(host, fleet, (*run).ticks)}
			if _, err := exec.LookPath("node"); err == nil && fleet.own == "" {
				fleet.perProcess = 50
				all = append(all, r.scriptedHost(inNode, fleet, (*run).ticks))
			}
			for _, p := range r.peers() {
				if p.name == colyseus {
					p.spec.Args = append(p.spec.Args[:len(p.spec.Args):len(p.spec.Args)], "--ticks", fmt.Sprint(ticksPerSecond))
					all = append(all, r.each([]served{p}, (*run).ticks)...)
				}
			}
			return all
		},
	}
}

// ticks measures the ticks that reach the players of games.
func (r *run) ticks(ctx context.Context, spec server.Spec) (round result.Round, err error) {
	var failed server.ScriptErrors
	err = r.with(ctx, spec, func(proc *server.Process) (err error) {
		if r.o.Script != "" {
			defer func() { failed, err = r.scriptFailed(ctx, proc, err) }()
		}
		cfg := loadgen.Config{Hz: r.p.Hz, PayloadBytes: r.p.Payload, Seed: 1, To: loadgen.ToTicks}
		return r.filled(ctx, proc, cfg, r.p.Rooms*r.p.Players, func(swarm *loadgen.Swarm) error {
			var load *loadgen.Result
			if round, load, err = r.loaded(ctx, proc, swarm, loadgen.Plan{Warmup: r.p.Warmup, Measure: r.p.Measure}); err != nil {
				return err
			}
			r.addTicks(&round, load)
			return nil
		})
	})
	if failed.Count > 0 || failed.Stuck {
		r.scriptProvesNothing(failed)
	}
	return round, err
}

// addTicks replaces the latencies of a load by what they are for ticks.
func (r *run) addTicks(round *result.Round, load *loadgen.Result) {
	f, players := round.Figures, float64(r.p.Players)
	for from, to := range map[string]string{"p50_ms": "gap_p50_ms", "p99_ms": "gap_p99_ms", "p999_ms": "gap_p999_ms"} {
		if v, ok := f[from]; ok {
			f.Set(to, v)
		}
	}
	if cpu, ok := f["cpu_us"]; ok {
		f.Set("cpu_tick_us", cpu*players)
	}
	f.Set("ticks_share", float64(load.Delivered)/(float64(r.p.Rooms)*players*ticksPerSecond*r.p.Measure.Seconds()))
	for _, name := range []string{"p50_ms", "p99_ms", "p999_ms", "max_ms", "cpu_us", "cpu_user_us", "cpu_system_us", "allocs_inbound"} {
		delete(f, name)
	}
	if why, bound := isBound(&loadgen.Result{Sent: load.Sent, Due: load.Due}); bound {
		r.provesNothing("%s: use fewer games, or a machine that is idle or has more cores", why)
	}
}
