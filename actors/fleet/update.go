package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

const (
	// propertiesMax bounds the properties of a game session.
	propertiesMax = 16
	// editsMax bounds the waiting updates of one game session.
	editsMax = 63
	// terminationsMax is the room for requests to terminate a game session beside editsMax updates.
	terminationsMax = 16
)

// onUpdateGameSession changes a game session once the change is durable (service-api.md 2.6).
func (gs *games) onUpdateGameSession(m stage.Request[messages.UpdateGameSession, *messages.GameSession]) {
	e := gs.known(m.Request.ID)
	switch {
	case e == nil:
		m.Reply(nil, notFound(m.Request.ID))
		return
	case gs.ledger.Waiting(e.key()) >= editsMax:
		m.Reply(nil, messages.Errorf(messages.Conflict, "too many changes of game session %s are under way", e.id))
		return
	}
	reply := func(err error) {
		if err != nil {
			m.Reply(nil, err)
			return
		}
		m.Reply(e.published.Session(), nil)
	}
	gs.ledger.Do(ledger.Transaction{Key: e.key(), WaitingMax: editsMax, Reply: reply, Decide: func() (ledger.Entry, error) {
		g := e.published.Session()
		edits, err := edited(g, m.Request)
		if err != nil {
			return ledger.Entry{}, err
		}
		edits.ApplyTo(g)
		return ledger.Entry{Changes: []store.Change{e.recordOf(g)}, Apply: func() {
			e.published.Edit(edits)
			e.seats.changed(e)
		}}, nil
	}})
}

// edited returns the changeable fields of a game session after a request.
func edited(g *messages.GameSession, q messages.UpdateGameSession) (gamesession.Edits, error) {
	if g.Status >= messages.GameSessionTerminating {
		return gamesession.Edits{}, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s", g.ID, g.Status)
	}
	n := gamesession.Edits{
		Name: g.Name, Properties: merged(g.Properties, q.Properties), MaxPlayers: g.MaxPlayers, AcceptsPlayers: g.AcceptsPlayers, Protected: g.Protected,
	}
	if len(n.Properties) > propertiesMax {
		return n, messages.Errorf(messages.InvalidRequest, "game session %s would have %d game properties; at most %d are allowed", g.ID, len(n.Properties), propertiesMax)
	}
	messages.Replace(&n.Name, q.Name)
	messages.Replace(&n.MaxPlayers, q.MaxPlayers)
	messages.Replace(&n.AcceptsPlayers, q.AcceptsPlayers)
	messages.Replace(&n.Protected, q.Protected)
	return n, nil
}

// merged adds properties, or replaces those with the same key; it removes none.
func merged(old, given []messages.Property) []messages.Property {
	all := slices.Clone(old)
	for _, p := range given {
		if i := slices.IndexFunc(all, func(o messages.Property) bool { return o.Key == p.Key }); i >= 0 {
			all[i] = p
		} else {
			all = append(all, p)
		}
	}
	return all
}
