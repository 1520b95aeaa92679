package fleet

import (
	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/messages"
)

// TerminateGameSession ends a game session from outside (service-api.md 2.6). The
// answer shows it as TERMINATING; a second request for one that is TERMINATING is
// answered alike. Force does not wait for the game.
type TerminateGameSession struct {
	Session messages.GameSessionID
	Force   bool
	Reply   func(*messages.GameSession, error)
}

// Undelivered implements stage.Undeliverable.
func (m TerminateGameSession) Undelivered() { m.Reply(nil, unavailable()) }

// StatusReason of a game session that was ended from outside.
const (
	reasonTriggered = "TRIGGERED_ON_PROCESS_TERMINATE"
	reasonForced    = "FORCE_TERMINATED"
)

func (r *Registry) onTerminateGameSession(c *stage.Context, m TerminateGameSession) {
	e := r.known(m.Session)
	if e == nil {
		m.Reply(nil, notFound(m.Session))
		return
	}
	switch g := e.published.Session(); {
	case e.ref == nil || e.over || g.Status > messages.GameSessionTerminating:
		m.Reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s", e.id, g.Status))
		return
	case g.Status == messages.GameSessionTerminating && !m.Force:
	default:
		reason, text := reasonTriggered, "terminated by the service API"
		if m.Force {
			reason, text = reasonForced, "terminated by force by the service API"
		}
		if g.Status < messages.GameSessionTerminating {
			e.published.Terminating(reason)
		}
		e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGameEnded, Text: text, StatusReason: reason, Force: m.Force})
	}
	// That it ends is not taken back: who gets an error may ask again.
	g, n := e.published.Session(), r.gameNews(c.Now(), e)
	r.commit(c, func() {}, func(err error) {
		if err != nil {
			m.Reply(nil, err)
			return
		}
		m.Reply(g, nil)
		r.leave(n)
	}, n.with(e.record())...)
}
