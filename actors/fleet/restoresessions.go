package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/store"
	"troupe/messages"
)

// restored holds the results of restore that started handles.
type restored struct {
	running []*entry       // game sessions that were running when the earlier process ended
	serving []*entry       // those of them whose processes go on
	orphans []store.Change // deletions of player sessions whose game session does not exist, and of ids that are not kept
}

// restore reads the game sessions and player sessions of earlier processes. started goes on with those whose server
// processes do, and sets the others that were running to TERMINATED.
func (gs *games) restore() error {
	if err := gs.restoreServers(); err != nil {
		return err
	}
	err := store.Read(gs.o.Store, &gs.unread, store.GameSession, func(id string, r *gameSessionRecord, _ int) error {
		if r.Fleet == "" || r.Location == "" || r.Status == 0 {
			return store.ErrIncomplete
		}
		gs.restoreSession(r.gameSession(id), r)
		return nil
	})
	if err != nil {
		return err
	}
	players, err := gs.restorePlayers()
	if err != nil {
		return err
	}
	for _, e := range gs.order {
		e.published = gamesession.NewRestored(e.published.Session(), players[e], e.onServer)
		e.players = e.published.PlayerIDs()
		for _, s := range players[e] { // sorted by now
			gs.players.set(s.ID, s.PlayerID, e)
		}
	}
	return nil
}

func (gs *games) restoreSession(g *messages.GameSession, r *gameSessionRecord) {
	e := &entry{
		id: g.ID, fleet: gs.fleetOf(g.FleetID), location: g.Location, token: g.IdempotencyToken, published: gamesession.NewPublisher(g),
		phase: phaseOver, endedAt: g.Terminated, storage: stored, onServer: r.Server,
	}
	copy(e.made[:], r.Made)
	if e.token != "" {
		gs.tokens[tokenKey{g.FleetID, g.Location, e.token}] = e
	}
	gs.sessions[e.id] = e
	gs.order = append(gs.order, e)
	if g.Status >= messages.GameSessionTerminated {
		gs.keepEnded(e)
	} else if gs.resumable(e) {
		gs.restored.serving = append(gs.restored.serving, e)
	} else {
		gs.restored.running = append(gs.restored.running, e)
	}
}

// restorePlayers reads the player sessions and groups them by game session. It deletes player sessions without a game
// session, unless some game session records are damaged, because the player sessions could belong to these.
func (gs *games) restorePlayers() (map[*entry][]messages.PlayerSession, error) {
	players := make(map[*entry][]messages.PlayerSession)
	err := store.Read(gs.o.Store, &gs.unread, store.PlayerSession, func(id string, r *playerSessionRecord, _ int) error {
		if r.Session == "" || r.PlayerID == "" || r.Status == 0 {
			return store.ErrIncomplete
		}
		e := gs.sessions[r.Session]
		if e == nil { // its game session was never stored or is forgotten
			if len(gs.unread.IDs(store.GameSession)) == 0 {
				gs.restored.orphans = append(gs.restored.orphans, store.Delete(store.PlayerSession, id))
			}
			return nil
		}
		players[e] = append(players[e], r.playerSession(id))
		return nil
	})
	return players, err
}

// restoreBatch limits the number of changes in one commit at the start.
const restoreBatch = 1000

// endRestored ends the game sessions that were running when the previous process ended. They end now, because the real
// time of their end is unknown.
func (gs *games) endRestored() {
	now := gs.context.Now()
	changes := gs.restored.orphans
	for _, e := range gs.restored.running {
		e.endedAt = now
		if gs.o.OwnEvents {
			e.opened(true, e.published.Players(nil)...)
		}
		e.published.End(now, "the host has started again")
		gs.storeChange(e)
		gs.keepEnded(e)
	}
	if n := len(gs.restored.running); n > 0 {
		gs.context.Log().Warn().Int("game_sessions", n).Msg("game sessions of the process before are TERMINATED")
	}
	gs.startServers()
	gs.restored = restored{}
	slices.SortFunc(gs.order, func(a, b *entry) int {
		g, _, _ := a.published.Shared()
		h, _, _ := b.published.Shared()
		return cmp.Or(g.Created.Compare(h.Created), cmp.Compare(a.id, b.id))
	})
	for _, e := range gs.order {
		g, _, _ := e.published.Shared()
		gs.catalog.Charged(e.fleet.id, g.CreatorID, g.Created)
	}
	slices.SortStableFunc(gs.ended, func(a, b *entry) int { return a.endedAt.Compare(b.endedAt) })
	for batch := range slices.Chunk(changes, restoreBatch) {
		gs.ledger.CommitAsync(batch...)
	}
	gs.forgetEnded()
}

// tellDamage adds an event about damaged records to the fleets of the affected game sessions.
func (gs *games) tellDamage() {
	damaged := make(map[messages.FleetID]int)
	for id := range gs.unread.IDs(store.GameSession) {
		_, tail, _ := strings.Cut(id, ":gamesession/")
		fleet, _, _ := strings.Cut(tail, "/")
		damaged[messages.FleetID(fleet)]++
	}
	for id, n := range damaged {
		if f := gs.catalog.Fleet(id); f != nil && f.Status != messages.FleetTerminated {
			gs.catalog.FleetEvent(id, catalog.EventGeneric, fmt.Sprintf("the records of %d ended game sessions in the store are damaged: they are not shown, and their ids stay taken", n))
		}
	}
}
