package fleet

import (
	"slices"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

const (
	// propertiesMax limits the number of properties of a game session.
	propertiesMax = 16
	// editsMax limits the number of queued updates of one game session.
	editsMax = 63
	// terminationsMax is the number of requests to terminate a game session that may queue in addition to editsMax
	// updates.
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
		if err := edit(g, m.Request); err != nil {
			return ledger.Entry{}, err
		}
		return ledger.Entry{Changes: []store.Change{e.recordOf(g)}, Apply: func() {
			e.published.Edit(g)
			e.seats.changed(e)
		}}, nil
	}})
}

// edit applies the changes in a request to a record.
func edit(g *messages.GameSession, q messages.UpdateGameSession) error {
	if g.Status >= messages.GameSessionTerminating {
		return messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s", g.ID, g.Status)
	}
	g.Properties = merged(g.Properties, q.Properties)
	if len(g.Properties) > propertiesMax {
		return messages.Errorf(messages.InvalidRequest, "game session %s would have %d game properties; at most %d are allowed", g.ID, len(g.Properties), propertiesMax)
	}
	messages.Replace(&g.Name, q.Name)
	messages.Replace(&g.MaxPlayers, q.MaxPlayers)
	messages.Replace(&g.AcceptsPlayers, q.AcceptsPlayers)
	messages.Replace(&g.Protected, q.Protected)
	return nil
}

// merged adds properties or replaces those with the same key. It removes none.
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
