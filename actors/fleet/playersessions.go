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

// onPlayerSessionsCreated stores new player sessions. Once they are durable, it makes them visible and replies. If the
// store refuses them, they end.
func (gs *games) onPlayerSessionsCreated(m stage.Request[gamesession.PlayerSessionsCreated, []*messages.PlayerSession]) {
	created := m.Request
	ids := make([]messages.PlayerSessionID, len(created.Records))
	for i, s := range created.Records {
		ids[i] = s.ID
	}
	if created.Fill != nil {
		gs.storeFill(m, ids)
		return
	}
	gs.ledger.Do(ledger.Transaction{Key: playerKey(ids[0]), Reply: m.With(&created.Records), Decide: func() (ledger.Entry, error) {
		e := gs.known(created.Session)
		if e == nil {
			return ledger.Entry{}, notFound(created.Session)
		}
		changes := make([]store.Change, len(created.Records))
		for i, s := range created.Records {
			changes[i] = storedPlayerSession(s)
		}
		tell := func(refused bool) {
			if e.ref != nil {
				e.ref.Tell(gamesession.PlayerSessionsStored{IDs: ids, Refused: refused})
			}
		}
		return ledger.Entry{
			Changes: changes, Events: gs.eventsOfPlayerSessions(e, created.Records...), Refused: func() { tell(true) },
			Apply: func() {
				gs.addPlayerSessions(e, created, ids)
				tell(false)
			},
		}, nil
	}})
}

// addPlayerSessions adds durable player sessions to a game session. The game session may have ended in the meantime.
func (gs *games) addPlayerSessions(e *entry, m gamesession.PlayerSessionsCreated, ids []messages.PlayerSessionID) {
	m.Show()
	if e.storage == forgotten {
		return // the next start will delete the player sessions
	}
	for _, s := range m.Records {
		gs.players.set(s.ID, s.PlayerID, e)
	}
	e.players = append(e.players, ids...)
	e.opened(gs.o.OwnEvents, m.Records...)
	e.seats.changed(e)
	if e.told == messages.GameSessionTerminated { // the events of its end did not include these player sessions
		gs.ledger.Note(e.key(), gs.eventsOfEnd(e))
	}
}

func (gs *games) onPlayerSessionChanged(m gamesession.PlayerSessionChanged) {
	if e := gs.players.get(m.Record.ID); e != nil {
		e.opened(gs.o.OwnEvents, m.Record)
		gs.ledger.Note(e.key(), gs.eventsOfPlayerSessions(e, m.Record),
			ledger.Record{Key: playerKey(m.Record.ID), Change: func() store.Change { return storedPlayerSession(m.Record) }})
		e.seats.changed(e)
	}
}

func (gs *games) onPlayerSessionsForgotten(m gamesession.PlayerSessionsForgotten) {
	e := gs.sessions[m.Session]
	if e == nil || len(m.IDs) == 0 {
		return
	}
	gone := make(map[messages.PlayerSessionID]bool, len(m.IDs))
	records := make([]ledger.Record, len(m.IDs))
	for i, id := range m.IDs {
		gs.players.remove(id)
		delete(e.open, id)
		gone[id] = true
		records[i] = ledger.Record{Key: playerKey(id), Change: func() store.Change { return store.Delete(store.PlayerSession, string(id)) }}
	}
	e.players = slices.DeleteFunc(e.players, func(id messages.PlayerSessionID) bool { return gone[id] })
	gs.ledger.Note(e.key(), nil, records...)
}
