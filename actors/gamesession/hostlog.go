package gamesession

import (
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/script"
	"troupe/messages"
)

// HostLog returns the sink of a game session without a log of its own: the
// host's log.
func HostLog(log *zerolog.Logger, id string) script.Sink { return hostLog{log: log, session: id} }

// End shows a game session as ended that has no actor to do so.
func (p *Published) End(now time.Time, text string) {
	p.change(func(g *messages.GameSession) {
		g.Status, g.Terminated, g.EndText = messages.GameSessionTerminated, now, text
	})
}
