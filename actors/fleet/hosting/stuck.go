package hosting

import (
	"strings"
	"time"

	"troupe/actors/fleet/catalog"
	"troupe/actors/stage"
	"troupe/messages"
)

// Stuck says that a call into a game's logic cannot be ended. The process then counts as crashed. The sender must
// guarantee the preconditions of stage.Ref.Abandon.
type Stuck struct {
	Ref    *stage.Ref
	Reason string
}

const (
	// stuckMax is the number of calls of one content that may get stuck before the content is refused. Each stuck call
	// keeps a thread and its memory until the host ends (reliability.md 6).
	stuckMax = 2
	// stuckApart is the time within which a second stuck call, of any script, makes the host log a warning.
	stuckApart = time.Hour
)

// Stuck ends a process whose actor is in a stuck call. of is nil if the process has no game session. session is the id
// of the game session for the log, or "".
func (h *Hosting) Stuck(m Stuck, of *Process, session string) {
	if !m.Ref.Abandon(m.Reason) {
		return
	}
	log := h.c.Log().Error().Str("given_up", m.Ref.Name()).Str("reason", m.Reason)
	if session != "" {
		log = log.Str("game_session_id", session)
	}
	log.Msg("a script cannot be stopped: its process is given up")
	if apart, again := h.lastStuck.at(h.c.Now()); again {
		h.c.Counters().ScriptStuckAgain.Add(1)
		h.c.Log().Warn().Stringer("apart", apart).Int64("threads_lost", h.c.Counters().ScriptsStuck.Load()).
			Msg("two scripts could not be stopped within an hour: each holds a thread and its memory until the host is restarted")
	}
	if i := h.standbys[m.Ref]; i != nil {
		h.hung[i.program.content] = true
		h.countStuck(i.program)
	} else if of != nil {
		h.countStuck(of.program)
	}
}

// lastStuck is the last time at which a call got stuck. It is zero if none has.
type lastStuck struct{ time time.Time }

// at records a stuck call. It reports whether the call comes within stuckApart of the previous one.
func (l *lastStuck) at(now time.Time) (apart time.Duration, again bool) {
	apart, again = now.Sub(l.time), !l.time.IsZero()
	l.time = now
	return apart, again && apart < stuckApart
}

// countStuck counts a stuck call. When a content reaches stuckMax calls, countStuck refuses the content.
func (h *Hosting) countStuck(of *program) {
	if h.stuck[of.content]++; h.stuck[of.content] != stuckMax {
		return
	}
	h.each(func(p *ProcessConfig) {
		if p.next != nil && p.next.content == of.content {
			h.fill(p)
		}
		if p.current == nil || p.current.content != of.content {
			return
		}
		h.stopStandby(p, func(i *standbyProcess) bool { return i.program == p.current })
		id := p.fleet.record.ID
		h.c.Log().Warn().Str("fleet_id", string(id)).Str("launch_path", p.spec.LaunchPath).Str("version", of.version).
			Msg("a version of a script is refused for new game sessions: two of its calls could not be ended")
		h.o.Catalog.FleetEvent(id, catalog.EventCrashed, p.refusal())
	})
}

// refused reports whether a content is refused because of stuck calls.
func (h *Hosting) refused(p *program) bool { return h.stuck[p.content] >= stuckMax }

// refusal returns the reason why a configuration accepts no new game sessions.
func (p *ProcessConfig) refusal() string {
	return "version " + p.current.version + " of the script takes no new game sessions: two of its calls could not be ended; update the script"
}

// Refused returns an error if no version that a fleet runs accepts new game sessions.
func (h *Hosting) Refused(id messages.FleetID) (err error) {
	if f := h.fleets[id]; f != nil {
		for _, p := range f.configs {
			switch {
			case p.current == nil:
			case !h.refused(p.current):
				return nil
			default:
				err = messages.Errorf(messages.InvalidFleetStatus, "fleet %s: %s", id, p.refusal())
			}
		}
	}
	return err
}

// whyMax limits the length of a reason in an answer, in bytes. The fleet's events contain the whole reason.
const whyMax = 300

// Why returns the reason why no process of a fleet runs, on one line. The reason is preceded by ": ", so that it can be
// the end of a sentence. Why returns "" if there is no reason.
func (h *Hosting) Why(id messages.FleetID) string {
	if f := h.fleets[id]; f != nil {
		for _, p := range f.configs {
			if why := strings.Join(strings.Fields(p.why), " "); why != "" {
				return ": " + strings.ToValidUTF8(why[:min(len(why), whyMax)], "")
			}
		}
	}
	return ""
}
