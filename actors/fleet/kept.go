package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/store"
	"troupe/messages"
)

// known returns a visible game session, or nil if there is none with that id.
func (gs *games) known(id messages.GameSessionID) *entry {
	if e := gs.sessions[id]; e != nil && e.storage == stored {
		return e
	}
	return nil
}

// storeNew makes a new game session durable. Then it makes the game session visible and answers the callers. If the
// store refuses it, the game session ends and is forgotten. In a cluster, storeNew also claims the game session in the
// directory at the same time.
func (gs *games) storeNew(e *entry) {
	g := e.published.Session()
	g.Status = messages.GameSessionActivating // the actor may already have made it ACTIVE; Changed will store that
	if gs.o.Directory != nil {
		e.claim = claiming
		self := gs.context.Self()
		gs.o.Directory.Claim(g, e.made, func(err error) { self.Tell(claimAnswered{e, err}) })
	}
	gs.ledger.Do(ledger.Transaction{Key: e.key(), Decide: func() (ledger.Entry, error) {
		changes := []store.Change{e.recordOf(g)}
		if p := e.server; p != nil {
			p.stored, p.isStored = p.machine.Record, true
			changes = append(changes, p.record(p.stored))
		}
		return ledger.Entry{
			Changes: changes, Events: gs.eventsOfRecord(e, g),
			Apply: func() {
				e.written = true
				switch e.claim {
				case unclaimed, claimed:
					gs.show(e)
				case claimLost:
					gs.ledger.CommitAsync(e.deleted()...)
				}
			},
			Refused: func() {
				gs.context.Log().Error().Str("game_session_id", string(e.id)).Msg("a new game session was not stored: it ends")
				gs.abandon(e)
				gs.catalog.Refund(g.FleetID, g.CreatorID)
				e.answer(nil, ledger.NotStored())
			},
		}, nil
	}})
}

// show makes a durable game session visible and answers its callers.
func (gs *games) show(e *entry) {
	if e.storage == unstored { // otherwise the game session has ended and is forgotten
		e.storage = stored
	}
	e.fleet.shown.add(e)
	gs.tellHosting(e)
	e.answer(e.published.Session(), nil)
	e.tellActivation()
}

// onClaimAnswered handles the directory's answer to a claim. A game session whose claim failed ends.
func (gs *games) onClaimAnswered(m claimAnswered) {
	e := m.e
	if m.err == nil {
		if e.claim = claimed; e.written {
			gs.show(e)
		}
		return
	}
	e.claim = claimLost
	gs.abandon(e)
	if e.answer(nil, m.err); e.written {
		gs.ledger.CommitAsync(e.deleted()...)
	}
}

// answer answers the callers that wait until a new game session is durable.
func (e *entry) answer(g *messages.GameSession, err error) {
	waiting := e.waiting
	e.waiting = nil
	for _, reply := range waiting {
		reply(g, err)
	}
}

func (gs *games) abandon(e *entry) {
	if e.runs() {
		e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "the host could not store it", Force: true})
	}
	if e.storage == forgotten {
		return
	}
	gs.forget(e)
	if i := slices.Index(gs.ended, e); i >= 0 {
		gs.ended = slices.Delete(gs.ended, i, i+1)
		gs.endedBytes -= e.bytes
	}
	gs.sweep(1)
}

// storeChange stores a change for which no caller waits.
func (gs *games) storeChange(e *entry) {
	if e.storage != forgotten {
		gs.ledger.Note(e.key(), gs.eventsOfRecord(e, e.published.Session()), ledger.Record{Key: e.key(), Change: e.record})
	}
}

func (gs *games) answerCreated(e *entry, err error, reply func(*messages.GameSession, error)) {
	switch {
	case err != nil:
		reply(nil, err)
	case e.storage == stored:
		reply(e.published.Session(), nil)
	default:
		e.waiting = append(e.waiting, reply)
	}
}

// answerUnstored answers all callers that are still waiting when the registry stops.
func (gs *games) answerUnstored() {
	for _, e := range gs.order {
		e.answer(nil, unavailable())
		for _, reply := range e.activation {
			reply(messages.Activation{}, unavailable())
		}
		if e.seats.waiting != nil {
			e.seats.waiting(messages.SeatsReport{}, unavailable())
		}
	}
	for _, reply := range gs.news.waiting {
		reply(messages.Room{}, unavailable())
	}
}

// onChanged handles a game session that has become ACTIVE or TERMINATING.
func (gs *games) onChanged(m gamesession.Changed) {
	e := gs.sessions[m.Session]
	if e == nil {
		return
	}
	gs.activated(e)
	isActive := e.published.Session().Status == messages.GameSessionActive
	// TERMINATING without an event is not stored, because a restart makes a game session of the host TERMINATED anyway.
	if isActive || gs.o.OwnEvents || e.server != nil {
		gs.storeChange(e)
	}
	if f := gs.catalog.Fleet(e.fleet.id); isActive && f != nil && f.Runtime.ActivatingMax > 0 {
		gs.tellRoom(f)
	}
	e.tellActivation()
	e.seats.changed(e)
}

// keepEnded adds a game session to the ended ones, unless it is forgotten.
func (gs *games) keepEnded(e *entry) {
	if e.storage == forgotten {
		return
	}
	g, _, _ := e.published.Shared()
	e.bytes = endedBytes + len(g.Data) + len(g.MatchmakerData) + playerSessionBytes*len(e.players)
	gs.ended = append(gs.ended, e)
	gs.endedBytes += e.bytes
}

// forgetEnded drops ended game sessions that exceed a limit. Those that ended first are dropped first.
func (gs *games) forgetEnded() {
	n := 0
	var changes []store.Change
	for ; n < len(gs.ended); n++ {
		if len(gs.ended)-n <= gs.o.EndedMax && gs.endedBytes <= endedBytesMax && gs.context.Now().Sub(gs.ended[n].endedAt) <= gs.o.EndedKeep {
			break
		}
		gs.endedBytes -= gs.ended[n].bytes
		gs.forget(gs.ended[n])
		changes = append(changes, gs.ended[n].deleted()...)
	}
	if n == 0 {
		return
	}
	for batch := range slices.Chunk(changes, restoreBatch) {
		gs.ledger.CommitAsync(batch...)
	}
	clear(gs.ended[:n])
	gs.ended = gs.ended[n:]
	gs.sweep(n)
}

// sweep counts n more forgotten game sessions. It removes the forgotten ones from order only when there are many,
// because it must visit the whole list.
func (gs *games) sweep(n int) {
	if gs.forgotten += n; gs.forgotten > orderSlack+len(gs.order)/4 {
		gs.forgotten = 0
		gs.order = slices.DeleteFunc(gs.order, func(e *entry) bool { return e.storage == forgotten })
	}
}

// orderSlack is the number of forgotten game sessions that may stay in order before it is cleaned.
const orderSlack = 64

// deleted returns the changes that delete a game session and its player sessions.
func (e *entry) deleted() []store.Change {
	changes := []store.Change{store.Delete(store.GameSession, string(e.id))}
	for _, id := range e.players {
		changes = append(changes, store.Delete(store.PlayerSession, string(id)))
	}
	return changes
}

func (gs *games) forget(e *entry) {
	e.storage = forgotten
	gs.ledger.Discard(e.key())
	delete(gs.sessions, e.id)
	if e.token != "" {
		delete(gs.tokens, tokenKey{e.fleet.id, e.location, e.token})
	}
	for _, id := range e.players {
		gs.players.remove(id)
	}
}
