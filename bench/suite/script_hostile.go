package suite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

// alone is the subject that the others are compared with: no hostile script runs beside the game sessions.
const alone = "alone"

// hostileOnes are rows of the table that run beside other game sessions for as long as these are measured.
var hostileOnes = []struct {
	name string
	way  int
}{{"loop", 1}, {"allocation", 32}, {"recursion", 9}}

// hostileLookEvery is how often it is looked whether the hostile script still runs.
const hostileLookEvery = 200 * time.Millisecond

// besideHostile are game sessions with players, alone and beside each hostile script.
func (r *run) besideHostile() []subject {
	subjects := []subject{r.playerOn(alone, loadgen.ToServer, echoFleet)}
	for _, h := range hostileOnes {
		subjects = append(subjects, subject{name: h.name, build: r.buildOf(r.host()), measure: func(ctx context.Context) (round result.Round, err error) {
			row, err := hostileRowOf(h.way)
			if err != nil {
				return round, err
			}
			made := 0
			t := traffic{to: loadgen.ToServer, beside: func(ctx context.Context, proc *server.Process) (err error) {
				made, err = keepOne(ctx, proc, row.fleet())
				return err
			}}
			settings := fmt.Sprintf("script: {callback: %v}\n", max(r.p.Measure/4, 500*time.Millisecond)) // it is ended a few times
			spec, err := r.fleets(r.host(), settings, echoFleet, row.script())
			if err == nil {
				round, err = r.relay(ctx, spec, t)
			}
			if err == nil {
				round.Figures.Set("hostile_sessions", float64(made))
			}
			return round, err
		}})
	}
	return subjects
}

// keepOne has one game session of a fleet at any time, and returns how many it made when ctx has ended.
func keepOne(ctx context.Context, proc *server.Process, fleet string) (made int, err error) {
	if err := proc.AwaitFleet(ctx, fleet); err != nil {
		return 0, err
	}
	for id := ""; ; {
		status, err := "", error(nil)
		if id != "" {
			status, err = proc.Status(ctx, id)
		}
		if err == nil && (status == "" || status == "TERMINATED" || status == "ERROR") {
			if id, err = proc.CreateGameSession(ctx, fleet, 1); err == nil {
				made++
			}
		}
		if err == nil {
			err = rest(ctx, hostileLookEvery)
		}
		if ctx.Err() != nil {
			return made, nil
		}
		if err != nil {
			return made, errors.Join(err, proc.Alive())
		}
	}
}
