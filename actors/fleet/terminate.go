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
	g := e.published.Session()
	if e.ref == nil || e.over || g.Status > messages.GameSessionTerminating {
		m.Reply(nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s", e.id, g.Status))
		return
	}
	reason, text := reasonTriggered, "terminated by the service API"
	if m.Force {
		reason, text = reasonForced, "terminated by force by the service API"
	}
	again := g.Status == messages.GameSessionTerminating
	if !again {
		e.published.Terminating(reason)
	}
	// That it ends is not taken back: who gets an error may ask again. What is told is
	// TERMINATING, however soon it is over.
	g = e.published.Session()
	n := r.gameNewsOf(c.Now(), e, g)
	if !again || m.Force {
		e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGameEnded, Text: text, StatusReason: reason, Force: m.Force})
	}
	self := c.Self()
	r.commit(c, func() {}, func(err error) {
		if err != nil {
			self.Tell(refusedNews{e, n})
			m.Reply(nil, err)
			return
		}
		m.Reply(g, nil)
		r.leave(n)
	}, n.with(e.record())...)
}
