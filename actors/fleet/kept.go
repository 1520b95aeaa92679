package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// gameSessionRecord is what the store keeps of a game session.
type gameSessionRecord struct {
	Session messages.GameSession
}

// stored tells the actor that a new game session is durable, or why it is not.
type stored struct {
	e   *entry
	err error
}

// Undelivered implements stage.Undeliverable: those who wait are answered when the
// registry stops.
func (stored) Undelivered() {}

// known returns a game session that may be shown, or nil.
func (r *Registry) known(id messages.GameSessionID) *entry {
	if e := r.sessions[id]; e != nil && e.stored {
		return e
	}
	return nil
}

// record is the change that stores a game session as it is now.
func (e *entry) record() store.Change {
	g := e.published.Session()
	g.CurrentPlayers = 0 // counted
	return store.Put(store.GameSession, string(e.id), gameSessionRecord{Session: *g})
}

// storeNew makes a new game session durable.
func (r *Registry) storeNew(c *stage.Context, e *entry) {
	self := c.Self()
	r.o.Store.Commit([]store.Change{e.record()}, func(err error) { self.Tell(stored{e, err}) })
}

// onStored answers those who wait for a new game session, which is shown from now on.
// One that could not be stored ends, and has never been.
func (r *Registry) onStored(c *stage.Context, m stored) {
	e := m.e
	waiting := e.waiting
	e.waiting = nil
	if m.err != nil {
		c.Log().Error().Err(m.err).Str("game_session_id", string(e.id)).Msg("a new game session was not stored: it ends")
		r.abandon(e)
		for _, answer := range waiting {
			answer(nil, notStored())
		}
		return
	}
	e.stored = true
	if e.changed {
		r.storeChange(c, e)
	}
	g := e.published.Session()
	for _, answer := range waiting {
		answer(g, nil)
	}
	r.tellLaunched(e)
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
	gone := func(o *entry) bool { return o == e }
	r.order = slices.DeleteFunc(r.order, gone)
	r.ended = slices.DeleteFunc(r.ended, gone)
}

// storeChange makes what has changed by itself durable; nobody waits for it.
func (r *Registry) storeChange(c *stage.Context, e *entry) {
	if e.changed = !e.stored; e.changed || e.forgotten {
		return
	}
	log := c.Log()
	r.o.Store.Commit([]store.Change{e.record()}, func(err error) {
		if err != nil {
			log.Error().Err(err).Str("game_session_id", string(e.id)).Msg("a change was not stored")
		}
	})
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
		for _, answer := range e.waiting {
			answer(nil, unavailable())
		}
		e.waiting = nil
	}
}

// onChanged takes a game session that has become ACTIVE or TERMINATING.
func (r *Registry) onChanged(c *stage.Context, m gamesession.Changed) {
	e := r.sessions[m.Session]
	if e == nil {
		return
	}
	if e.published.Session().Status == messages.GameSessionActive {
		r.storeChange(c, e) // the others are TERMINATED after a restart, whatever is stored
		if e.fleet.record.Runtime.ActivatingMax > 0 {
			r.tellRoom(e.fleet, "")
		}
	}
	r.tellLaunched(e)
}

// keepEnded remembers a game session that has ended.
func (r *Registry) keepEnded(e *entry) {
	if !e.forgotten {
		r.ended = append(r.ended, e)
	}
}
