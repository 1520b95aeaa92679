package fleet

import (
	"slices"
	"strings"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// restored is what the start has yet to do with game sessions of an earlier process.
type restored struct {
	lived   []*entry       // they had not ended when that process did
	strays  []store.Change // deletes what belongs to nothing
	damaged []store.Damage // what the host goes on without
}

// restoreSessions reads the game sessions and player sessions of earlier processes. All
// are over; those that do not know it yet get to in endRestored. Fleets may be gone by now.
func (r *Registry) restoreSessions() error {
	gone := make(map[messages.FleetID]*fleetEntry)
	err := r.read(store.GameSession, func(id string, value []byte) error {
		g, made, err := decodeGameSession(id, value)
		if err != nil {
			r.without(store.GameSession, id, err)
			return nil
		}
		f := r.fleets[g.FleetID]
		if f == nil {
			f = gone[g.FleetID]
		}
		if f == nil {
			f = newFleetEntry(&messages.Fleet{ID: g.FleetID, Status: messages.FleetTerminated, Locations: []string{g.Location}})
			gone[g.FleetID] = f
		}
		r.restoreSession(f, g, made)
		return nil
	})
	if err != nil {
		return err
	}
	players, err := r.restorePlayers()
	if err != nil {
		return err
	}
	for _, e := range r.order {
		e.published = gamesession.NewRestored(e.published.Session(), players[e])
		e.players = e.published.PlayerIDs()
		for _, id := range e.players {
			r.players.set(id, e)
		}
	}
	return nil
}

func (r *Registry) restoreSession(f *fleetEntry, g *messages.GameSession, made []byte) {
	e := &entry{
		id: g.ID, fleet: f, location: g.Location, token: g.IdempotencyToken, published: gamesession.NewPublisher(g),
		over: true, endedAt: g.Terminated, stored: true,
	}
	copy(e.made[:], made)
	if e.token != "" {
		r.tokens[tokenKey{g.FleetID, g.Location, e.token}] = e
	}
	r.sessions[e.id] = e
	r.order = append(r.order, e)
	if g.Status >= messages.GameSessionTerminated {
		r.keep(e)
	} else {
		r.restored.lived = append(r.restored.lived, e)
	}
}

// restorePlayers reads player sessions, by game session. If a game session could not be
// read, of which not even the id is certain, those without one stay where they are.
func (r *Registry) restorePlayers() (map[*entry][]messages.PlayerSession, error) {
	players := make(map[*entry][]messages.PlayerSession)
	err := r.read(store.PlayerSession, func(id string, value []byte) error {
		s, err := decodeSeat(id, value)
		if err != nil {
			r.without(store.PlayerSession, id, err)
			return nil
		}
		e := r.sessions[s.GameSessionID]
		if e == nil { // its game session was not stored, or is forgotten
			if len(r.unread[store.GameSession]) == 0 {
				r.restored.strays = append(r.restored.strays, store.Delete(store.PlayerSession, id))
			}
			return nil
		}
		players[e] = append(players[e], s)
		return nil
	})
	return players, err
}

// restoreBatch is how many changes one commit of the start has.
const restoreBatch = 1000

// endRestored ends the game sessions that lived when the last process died, as of now: no
// time between that and now is known better.
func (r *Registry) endRestored(c *stage.Context) {
	now := c.Now()
	changes := r.restored.strays
	for _, e := range r.restored.lived {
		e.endedAt = now
		r.reopen(e)
		e.published.End(now, "the host has started again")
		r.storeChange(c, e)
		r.keep(e)
	}
	if n := len(r.restored.lived); n > 0 {
		c.Log().Warn().Int("game_sessions", n).Msg("game sessions of the process before are TERMINATED")
	}
	r.restored = restored{}
	slices.SortFunc(r.order, func(a, b *entry) int {
		g, _, _ := a.published.Shared()
		h, _, _ := b.published.Shared()
		if c := g.Created.Compare(h.Created); c != 0 {
			return c
		}
		return strings.Compare(string(a.id), string(b.id))
	})
	r.restoreCreators()
	slices.SortStableFunc(r.ended, func(a, b *entry) int { return a.endedAt.Compare(b.endedAt) })
	for batch := range slices.Chunk(changes, restoreBatch) {
		r.ledger.Forget(batch...)
	}
	r.forgetEnded(c)
}

// restoreCreators charges the creators on fleets that limit them with what they have
// created before the start. Order is sorted.
func (r *Registry) restoreCreators() {
	for _, e := range r.order {
		if f := e.fleet.record; f.CreatorLimit != nil {
			if g, _, _ := e.published.Shared(); g.CreatorID != "" {
				r.creators.remember(creator{f.ID, g.CreatorID}, *f.CreatorLimit, g.Created)
			}
		}
	}
}

// reopen finds the player sessions whose ends are to be told of.
func (r *Registry) reopen(e *entry) {
	if !r.o.OwnEvents {
		return
	}
	e.open = make(map[messages.PlayerSessionID]bool)
	e.published.Players(func(id messages.PlayerSessionID, _ messages.PlayerID, s messages.PlayerSessionStatus) bool {
		if !s.Final() {
			e.open[id] = true
		}
		return false
	})
}
