package hosting

import "troupe/actors/stage"

// Stuck tells the fleet actor that a call into a game's logic cannot be ended: the
// process is given up, as crashed. The sender gives the guarantee that stage.Ref.Abandon needs.
type Stuck struct {
	Ref    *stage.Ref
	Reason string
}

// stuckMax is how many such calls a host survives: each holds a thread for ever
// (reliability.md 6, script).
const stuckMax = 2

// Stuck ends a process in order, although its actor is in a call. The name of its game session,
// "" if there is none, is for the log.
func (h *Hosting) Stuck(m Stuck, session string) {
	if !m.Ref.Abandon(m.Reason) {
		return
	}
	if i := h.standbys[m.Ref]; i != nil {
		h.hung[i.program.content] = true
	}
	h.stuck++
	log := h.c.Log().Error().Str("given_up", m.Ref.Name()).Str("reason", m.Reason).Int("stuck", h.stuck)
	if session != "" {
		log = log.Str("game_session_id", session)
	}
	log.Msg("a script cannot be stopped: its process is given up")
	if h.stuck == stuckMax && h.o.OnStuck != nil {
		h.o.OnStuck()
	}
}
