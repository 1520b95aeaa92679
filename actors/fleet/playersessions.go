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

// onPlayerSessionsCreated stores new player sessions, with the matchmaker data of the match that adds them. Once they are durable
// it shows them and answers. If that fails, they end.
func (gs *games) onPlayerSessionsCreated(m stage.Request[gamesession.PlayerSessionsCreated, []*messages.PlayerSession]) {
	created := m.Request
	fill, e := created.Fill, gs.known(created.Session)
	if e == nil {
		m.Reply(nil, notFound(created.Session))
		return
	}
	ids := make([]messages.PlayerSessionID, len(created.Records))
	changes := make([]store.Change, len(created.Records))
	for i, s := range created.Records {
		ids[i], changes[i] = s.ID, storedPlayerSession(s)
	}
	t := ledger.Transaction{Key: playerKey(ids[0])}
	news, ref := gamesession.PlayerSessionsStored{IDs: ids}, e.ref
	if fill != nil {
		t.Key, t.WaitingMax, news.Match = e.key(), editsMax, fill.Match
	}
	tell := func(refused bool) {
		if ref != nil {
			news.Refused = refused
			ref.Tell(news)
		}
	}
	t.Reply = func(err error) {
		if err != nil {
			tell(true)
		}
		m.With(&created.Records)(err)
	}
	t.Decide = func() (ledger.Entry, error) {
		if fill != nil {
			change, err := e.matchChange(fill)
			if err != nil {
				return ledger.Entry{}, err
			}
			changes = append(changes, change)
		}
		return ledger.Entry{Changes: changes, Events: gs.eventsOfPlayerSessions(e, created.Records...), Apply: func() {
			if fill != nil {
				e.published.Matched(fill.Data)
			}
			gs.addPlayerSessions(e, created, ids)
			tell(false)
			if fill != nil {
				e.update(fill)
			}
		}}, nil
	}
	gs.ledger.Do(t)
}

// addPlayerSessions adds durable player sessions to a game session, which may have ended meanwhile.
func (gs *games) addPlayerSessions(e *entry, m gamesession.PlayerSessionsCreated, ids []messages.PlayerSessionID) {
	m.Show()
	if e.storage == forgotten {
		return // the next start drops them
	}
	for _, id := range ids {
		gs.players.set(id, e)
	}
	e.players = append(e.players, ids...)
	e.opened(gs.o.OwnEvents, m.Records...)
	e.seats.changed(e)
	if e.told == messages.GameSessionTerminated { // its end was reported without them
		gs.ledger.Note(e.key(), gs.eventsOfEnd(e))
	}
}

// onPlayerSessionChanged stores a new status of a player session.
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
