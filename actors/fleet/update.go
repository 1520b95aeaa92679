package fleet

import (
	"slices"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/messages"
)

// edit is an UpdateGameSession under way.
type edit = Request[messages.UpdateGameSession, *messages.GameSession]

// editing is the edit that is being stored. What is stored behind it has it too, or that
// would be gone which is answered in between.
type editing struct {
	gamesession.Edits
	spread bool // something was
}

const (
	// propertiesMax is how many properties a game session may have.
	propertiesMax = 16
	// editsMax is how many edits of one game session may wait.
	editsMax = 64
)

// onUpdateGameSession changes a game session once that is durable (service-api.md 2.6).
// Edits of one game session are made one after the other, each on what the last has left.
func (r *Registry) onUpdateGameSession(c *stage.Context, m edit) {
	e := r.known(m.Request.ID)
	switch {
	case e == nil:
		m.Reply(nil, notFound(m.Request.ID))
		return
	case len(e.edits) >= editsMax:
		m.Reply(nil, messages.Errorf(messages.Conflict, "too many changes of game session %s are under way", e.id))
		return
	}
	if e.edits = append(e.edits, m); len(e.edits) == 1 {
		r.edit(c, e)
	}
}

// edit begins with the first edit that can be made.
func (r *Registry) edit(c *stage.Context, e *entry) {
	for len(e.edits) > 0 {
		m := e.edits[0]
		g := e.published.Session()
		edits, err := edited(g, m.Request)
		if err != nil {
			m.Reply(nil, err)
			e.edits = slices.Delete(e.edits, 0, 1)
			continue
		}
		e.editing = &editing{Edits: edits}
		next := func() {
			e.editing = nil
			e.edits = slices.Delete(e.edits, 0, 1)
			r.edit(c, e)
		}
		undo := func() {
			if e.editing.spread { // what was stored meanwhile has it
				e.editing = nil
				r.storeChange(c, e)
			}
			next()
		}
		then := func() {
			e.published.Edit(edits)
			next()
		}
		edits.To(g)
		r.commitThen(c, undo, then, func(err error) {
			if err != nil {
				m.Reply(nil, err)
				return
			}
			m.Reply(e.published.Session(), nil)
		}, e.recordOf(g))
		return
	}
}

// answerEdits answers the edits that wait as the registry stops; the first has the
// store's answer.
func (e *entry) answerEdits() {
	for _, m := range e.edits[min(1, len(e.edits)):] {
		m.Reply(nil, unavailable())
	}
	e.edits = nil
}

// edited is what a game session is to be like.
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
	replace(&n.Name, q.Name)
	replace(&n.MaxPlayers, q.MaxPlayers)
	replace(&n.AcceptsPlayers, q.AcceptsPlayers)
	replace(&n.Protected, q.Protected)
	return n, nil
}

// merged adds properties, or replaces those with the same key; none goes away.
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
