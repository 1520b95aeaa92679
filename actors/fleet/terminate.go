package fleet

import (
	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Ends from outside.
var (
	endTriggered = gamesession.Terminate{
		Reason: messages.CloseGameEnded, Text: "terminated by the service API", StatusReason: "TRIGGERED_ON_PROCESS_TERMINATE",
	}
	endForced = gamesession.Terminate{
		Reason: messages.CloseGameEnded, Text: "terminated by force by the service API", StatusReason: "FORCE_TERMINATED", Force: true,
	}
)

// GiveUp ends a game session that whoever launched it does not want any more, whether that
// can be stored or not.
type GiveUp struct{ Session messages.GameSessionID }

func (r *Registry) onTerminateGameSession(c *stage.Context, m stage.Request[messages.TerminateGameSession, *messages.GameSession]) {
	e := r.known(m.Request.GameSessionID)
	if e == nil {
		m.Reply(nil, notFound(m.Request.GameSessionID))
		return
	}
	end := endTriggered
	if m.Request.Force {
		end = endForced
	}
	var answer *messages.GameSession
	r.ledger.Do(ledger.Transaction{Key: e.key(), Reply: one(m.Reply, &answer), Decide: func() (ledger.Entry, error) {
		g := e.published.Session()
		if e.ref == nil || e.over || g.Status > messages.GameSessionTerminating {
			return ledger.Entry{}, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s", e.id, g.Status)
		}
		again, told := g.Status == messages.GameSessionTerminating, e.told
		// What is told is TERMINATING, however soon it is over.
		g.Status, answer = messages.GameSessionTerminating, g
		stored := *g
		if stored.StatusReason = e.published.Ending(); stored.StatusReason == "" {
			stored.StatusReason = end.StatusReason
		}
		return ledger.Entry{
			Changes: []store.Change{e.recordOf(&stored)}, Events: r.eventsOfRecord(c.Now(), e, g),
			Apply: func() {
				e.published.Terminating(end.StatusReason)
				if e.ref != nil && (!again || m.Request.Force) {
					e.ref.Tell(end)
				}
			},
			Refused: func() {
				if e.told == messages.GameSessionTerminating {
					if e.told = told; e.published.Session().Status >= messages.GameSessionTerminating { // by itself
						r.storeChange(c, e)
					}
				}
			},
		}, nil
	}})
}

func (r *Registry) onGiveUp(c *stage.Context, m GiveUp) {
	e := r.known(m.Session)
	if e == nil || e.ref == nil || e.over {
		return
	}
	e.published.Terminating(endForced.StatusReason)
	r.storeChange(c, e)
	e.ref.Tell(endForced)
}
