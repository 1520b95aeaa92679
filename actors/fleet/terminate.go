package fleet

import (
	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// Terminate messages for ends requested by the API or by a placement.
var (
	endTriggered = gamesession.Terminate{
		Reason: messages.CloseGameEnded, Text: "terminated by the service API", StatusReason: "TRIGGERED_ON_PROCESS_TERMINATE",
	}
	endForced = gamesession.Terminate{
		Reason: messages.CloseGameEnded, Text: "terminated by force by the service API", StatusReason: "FORCE_TERMINATED", Force: true,
	}
)

func (gs *games) onTerminateGameSession(m stage.Request[messages.TerminateGameSession, *messages.GameSession]) {
	e := gs.known(m.Request.GameSessionID)
	if e == nil {
		m.Reply(nil, notFound(m.Request.GameSessionID))
		return
	}
	end := endTriggered
	if m.Request.Force {
		end = endForced
	}
	var answer *messages.GameSession
	// The request may queue behind editsMax updates.
	gs.ledger.Do(ledger.Transaction{Key: e.key(), WaitingMax: editsMax + terminationsMax, Reply: m.With(&answer), Decide: func() (ledger.Entry, error) {
		g := e.published.Session()
		if !e.runs() || g.Status > messages.GameSessionTerminating {
			return ledger.Entry{}, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s", e.id, g.Status)
		}
		again, told := g.Status == messages.GameSessionTerminating, e.told // told is restored in Refused
		// The answer shows TERMINATING, even if the game session ends before the answer is sent.
		g.Status, answer = messages.GameSessionTerminating, g
		stored := *g
		if stored.StatusReason = e.published.Ending(); stored.StatusReason == "" {
			stored.StatusReason = end.StatusReason
		}
		return ledger.Entry{
			Changes: []store.Change{e.recordOf(&stored)}, Events: gs.eventsOfRecord(e, g),
			Apply: func() {
				e.published.Terminating(end.StatusReason)
				if e.ref != nil && (!again || m.Request.Force) {
					e.end(end)
					if end.Force {
						gs.killServer(e)
					}
				}
			},
			Refused: func() {
				if e.told == messages.GameSessionTerminating {
					// In the meantime the game session has ended for another reason.
					if e.told = told; e.published.Session().Status >= messages.GameSessionTerminating {
						gs.storeChange(e)
					}
				}
			},
		}, nil
	}})
}

func (gs *games) giveUp(id messages.GameSessionID) {
	e := gs.known(id)
	if e == nil || !e.runs() {
		return
	}
	e.published.Terminating(endForced.StatusReason)
	gs.storeChange(e)
	e.end(endForced)
}

// end ends a game session. A forced end also stops a script that is in an endless loop.
func (e *entry) end(t gamesession.Terminate) {
	e.ref.Tell(t)
	if t.Force && e.process != nil {
		e.process.Stop(t.Text)
	}
}
