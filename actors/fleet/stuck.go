package fleet

import (
	"troupe/actors/stage"
)

// Stuck tells the registry that a call into a game's logic cannot be ended: the game
// session is given up, as crashed. See stage.Ref.Abandon for what the sender vouches.
type Stuck struct {
	Ref    *stage.Ref
	Reason string
}

// stuckMax is how many such calls a process survives: each holds a thread for ever
// (reliability.md 6, script).
const stuckMax = 2

// onStuck ends the game session in order, although its actor is in a call.
func (r *Registry) onStuck(c *stage.Context, m Stuck) {
	if !m.Ref.Abandon(m.Reason) {
		return
	}
	if i := r.standbys[m.Ref]; i != nil && !i.program.hangs() {
		i.program.script.hung = append(i.program.script.hung, i.program.contents)
	}
	r.stuck++
	log := c.Log().Error().Str("given_up", m.Ref.Name()).Str("reason", m.Reason).Int("stuck", r.stuck)
	if e := r.refs[m.Ref]; e != nil {
		log = log.Str("game_session_id", string(e.id))
	}
	log.Msg("a script cannot be stopped: its process is given up")
	if r.stuck == stuckMax && r.o.OnStuck != nil {
		r.o.OnStuck()
	}
}
