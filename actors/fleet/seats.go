package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

func playerKey(id messages.PlayerSessionID) ledger.Key {
	return ledger.Key{Kind: store.PlayerSession, ID: string(id)}
}

// onSeatsMade answers with new player sessions once they are durable, and shows them. Seats
// that cannot be stored are free again.
func (r *Registry) onSeatsMade(c *stage.Context, m stage.Request[gamesession.PlayerSessionsCreated, []*messages.PlayerSession]) {
	created := m.Request
	ids := make([]messages.PlayerSessionID, len(created.Records))
	for i, s := range created.Records {
		ids[i] = s.ID
	}
	reply := func(err error) {
		if err != nil {
			m.Reply(nil, err)
			return
		}
		m.Reply(created.Records, nil)
	}
	r.ledger.Do(ledger.Transaction{Key: playerKey(ids[0]), Reply: reply, Decide: func() (ledger.Entry, error) {
		e := r.known(created.Session)
		if e == nil {
			return ledger.Entry{}, notFound(created.Session)
		}
		changes := make([]store.Change, len(created.Records))
		for i, s := range created.Records {
			changes[i] = storedSeat(s)
		}
		tell := func(refused bool) {
			if e.ref != nil {
				e.ref.Tell(gamesession.PlayerSessionsStored{IDs: ids, Refused: refused})
			}
		}
		return ledger.Entry{
			Changes: changes, Events: r.eventsOfPlayerSessions(c.Now(), e, created.Records...), Refused: func() { tell(true) },
			Apply: func() {
				r.takeSeats(c, e, created, ids)
				tell(false)
			},
		}, nil
	}})
}

// takeSeats takes up durable player sessions, of a game session that may be over by now.
func (r *Registry) takeSeats(c *stage.Context, e *entry, m gamesession.PlayerSessionsCreated, ids []messages.PlayerSessionID) {
	m.Show()
	if e.forgotten {
		return // the next start drops them
	}
	for _, id := range ids {
		r.players.set(id, e)
	}
	e.players = append(e.players, ids...)
	e.opened(r.o.OwnEvents, m.Records...)
	if e.told == messages.GameSessionTerminated { // and it did not know of them
		r.ledger.Note(e.key(), r.eventsOfEnd(c.Now(), e))
	}
}

// onSeatChanged stores a player session that has changed by itself.
func (r *Registry) onSeatChanged(c *stage.Context, m gamesession.PlayerSessionChanged) {
	if e := r.players.get(m.Record.ID); e != nil {
		e.opened(r.o.OwnEvents, m.Record)
		r.ledger.Note(e.key(), r.eventsOfPlayerSessions(c.Now(), e, m.Record),
			ledger.Record{Key: playerKey(m.Record.ID), Change: func() store.Change { return storedSeat(m.Record) }})
	}
}

func (r *Registry) onSeatsForgotten(m gamesession.PlayerSessionsForgotten) {
	e := r.sessions[m.Session]
	if e == nil || len(m.IDs) == 0 {
		return
	}
	gone := make(map[messages.PlayerSessionID]bool, len(m.IDs))
	records := make([]ledger.Record, len(m.IDs))
	for i, id := range m.IDs {
		r.players.remove(id)
		delete(e.open, id)
		gone[id] = true
		records[i] = ledger.Record{Key: playerKey(id), Change: func() store.Change { return store.Delete(store.PlayerSession, string(id)) }}
	}
	e.players = slices.DeleteFunc(e.players, func(id messages.PlayerSessionID) bool { return gone[id] })
	r.ledger.Note(e.key(), nil, records...)
}
