package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// known returns a game session that may be shown, or nil.
func (r *Registry) known(id messages.GameSessionID) *entry {
	if e := r.sessions[id]; e != nil && e.stored {
		return e
	}
	return nil
}

// storeNew makes a new game session durable, and answers those who wait for it. It is shown
// from then on. One that could not be stored ends, and has never been.
func (r *Registry) storeNew(c *stage.Context, e *entry) {
	g := e.published.Session()
	g.Status = messages.GameSessionActivating // it may be ACTIVE already, which Changed is to tell of
	r.ledger.Do(ledger.Transaction{Key: e.key(), Decide: func() (ledger.Entry, error) {
		return ledger.Entry{
			Changes: []store.Change{e.recordOf(g)}, Events: r.eventsOfRecord(c.Now(), e, g),
			Apply: func() {
				e.stored = true
				e.fleet.shown.add(e)
				e.answer(e.published.Session(), nil)
				r.tellLaunched(e)
			},
			Refused: func() {
				c.Log().Error().Str("game_session_id", string(e.id)).Msg("a new game session was not stored: it ends")
				r.abandon(e)
				r.creators.refund(creator{g.FleetID, g.CreatorID})
				e.answer(nil, ledger.NotStored())
			},
		}, nil
	}})
}

// answer answers those who wait for a new game session.
func (e *entry) answer(g *messages.GameSession, err error) {
	waiting := e.waiting
	e.waiting = nil
	for _, reply := range waiting {
		reply(g, err)
	}
}

// abandon ends and forgets a game session that nobody has been told of.
func (r *Registry) abandon(e *entry) {
	e.notify = nil
	r.erase(e)
	if e.ref != nil && !e.over {
		e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "the host could not store it", Force: true})
	}
}

// erase forgets one game session.
func (r *Registry) erase(e *entry) {
	if e.forgotten {
		return
	}
	r.forget(e)
	if e.over {
		r.ended = slices.DeleteFunc(r.ended, func(o *entry) bool { return o == e })
		r.endedBytes -= e.bytes
	}
	r.sweep(1)
}

// storeChange makes what has changed by itself durable; nobody waits for it.
func (r *Registry) storeChange(c *stage.Context, e *entry) {
	if !e.forgotten {
		r.ledger.Note(e.key(), r.eventsOfGameSession(c.Now(), e), ledger.Record{Key: e.key(), Change: e.record})
	}
}

// answerCreated answers for a game session when it is durable.
func (r *Registry) answerCreated(e *entry, err error, reply func(*messages.GameSession, error)) {
	switch {
	case err != nil:
		reply(nil, err)
	case e.stored:
		reply(e.published.Session(), nil)
	default:
		e.waiting = append(e.waiting, reply)
	}
}

// answerUnstored answers those who wait as the registry stops.
func (r *Registry) answerUnstored() {
	for _, e := range r.order {
		e.answer(nil, unavailable())
	}
}

// onChanged takes a game session that has become ACTIVE or TERMINATING.
func (r *Registry) onChanged(c *stage.Context, m gamesession.Changed) {
	e := r.sessions[m.Session]
	if e == nil {
		return
	}
	e.activates(false)
	isActive := e.published.Session().Status == messages.GameSessionActive
	if isActive || r.o.OwnEvents { // else it is TERMINATED after a restart, whatever is stored
		r.storeChange(c, e)
	}
	if isActive && e.fleet.record.Runtime.ActivatingMax > 0 {
		r.tellRoom(e.fleet, "")
	}
	r.tellLaunched(e)
}

// keepEnded remembers a game session that has ended.
func (r *Registry) keepEnded(e *entry) {
	if !e.forgotten {
		r.keep(e)
	}
}

// keep remembers a game session that has ended.
func (r *Registry) keep(e *entry) {
	g, _, _ := e.published.Shared()
	e.bytes = endedBytes + len(g.Data) + len(g.MatchmakerData) + seatBytes*len(e.players)
	r.ended = append(r.ended, e)
	r.endedBytes += e.bytes
}

// forgetEnded drops ended game sessions over the bounds, those first that ended
// first.
func (r *Registry) forgetEnded(c *stage.Context) {
	n := 0
	var changes []store.Change
	for ; n < len(r.ended); n++ {
		if len(r.ended)-n <= r.o.EndedMax && r.endedBytes <= endedBytesMax && c.Now().Sub(r.ended[n].endedAt) <= r.o.EndedKeep {
			break
		}
		r.endedBytes -= r.ended[n].bytes
		r.forget(r.ended[n])
		changes = append(changes, r.ended[n].deleted()...)
	}
	if n == 0 {
		return
	}
	for batch := range slices.Chunk(changes, restoreBatch) {
		r.ledger.Forget(batch...)
	}
	clear(r.ended[:n])
	r.ended = r.ended[n:]
	r.sweep(n)
}

// sweep takes those off order that are forgotten, n of them since the last call, once
// there are many: each sweep looks at all.
func (r *Registry) sweep(n int) {
	if r.forgotten += n; r.forgotten > orderSlack+len(r.order)/4 {
		r.forgotten = 0
		r.order = slices.DeleteFunc(r.order, func(e *entry) bool { return e.forgotten })
	}
}

// orderSlack is how many forgotten game sessions order may always hold.
const orderSlack = 64

// deleted are the changes that delete a game session and its player sessions.
func (e *entry) deleted() []store.Change {
	changes := make([]store.Change, 0, 1+len(e.players))
	changes = append(changes, store.Delete(store.GameSession, string(e.id)))
	for _, id := range e.players {
		changes = append(changes, store.Delete(store.PlayerSession, string(id)))
	}
	return changes
}

func (r *Registry) forget(e *entry) {
	e.forgotten = true
	r.ledger.Discard(e.key())
	delete(r.sessions, e.id)
	if e.token != "" {
		delete(r.tokens, tokenKey{e.fleet.record.ID, e.location, e.token})
	}
	for _, id := range e.players {
		r.players.remove(id)
	}
}
