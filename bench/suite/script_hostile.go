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

// alone is the subject without a hostile script. The other subjects are compared with it.
const alone = "alone"

// besideTimes is the allowed factor between the p99 of a game next to a hostile script and the p99 of a game alone.
const besideTimes = 1.5

// hostileScripts are calls that run while other game sessions are measured.
var hostileScripts = []struct{ name, call string }{
	{"loop", "for (;;);"},
	{"allocation", "const a = []; for (;;) a.push(new Array(1000).fill(1));"},
	{"recursion", "(function f() { f(); })();"},
}

// hostileText is the format string of a script that makes such a call. A timer makes the call, so that an uncaught error ends the
// game session.
const hostileText = `exports.ssExports = {
  init() {}, onProcessStarted: () => true, onPlayerConnect: () => true, onHealthCheck: () => true,
  onStartGameSession() { setTimeout(function onMessage() { %s }, 100); },
};
`

// hostileGoals requires that the other games keep their latency and lose no messages next to each hostile script.
func hostileGoals() (goals []result.Goal) {
	for _, h := range hostileScripts {
		goals = append(goals, result.Goal{Subject: h.name, Figure: "p99_ms", Over: alone, Times: besideTimes}, result.Goal{Subject: h.name, Figure: "delivered_share", Plus: 1, AtLeast: true})
	}
	return goals
}

// besideHostile returns the subjects: game sessions with players alone, and next to each hostile script on the same
// host.
func (r *run) besideHostile() []subject {
	subjects := []subject{r.playerOn(alone, echoFleet)}
	for _, h := range hostileScripts {
		subjects = append(subjects, r.subject(h.name, r.host(), func(ctx context.Context) (round result.Round, err error) {
			made := 0
			hostile := scriptFleet{id: "fleet-hostile", launch: "hostile.js", text: fmt.Sprintf(hostileText, h.call)}
			// short enough that the host ends the script a few times
			settings := fmt.Sprintf("script: {callback: %v}\n", max(r.p.Measure/4, 500*time.Millisecond))
			spec, err := r.fleets(r.host(), settings, echoFleet, hostile)
			if err != nil {
				return round, err
			}
			round, err = r.relay(ctx, spec, traffic{to: loadgen.ToServer, beside: func(ctx context.Context, proc *server.Process) (err error) {
				made, err = keepOne(ctx, proc, hostile.id)
				return err
			}})
			if err == nil {
				round.Figures.Set("hostile_sessions", float64(made))
			}
			return round, err
		}))
	}
	return subjects
}

// keepOne keeps one game session of a fleet running until ctx ends. It returns how many sessions it created.
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
			err = rest(ctx, 200*time.Millisecond)
		}
		if ctx.Err() != nil {
			return made, nil
		}
		if err != nil {
			return made, errors.Join(err, proc.Alive())
		}
	}
}
