package fleet

import (
	"slices"
	"time"

	"troupe/actors/gamesession"
	"troupe/messages"
)

// listener receives changes from the catalog and applies their consequences to hosting and the game sessions.
type listener struct{ *Registry }

func (l listener) FleetOpened(f *messages.Fleet)       { l.games.tellRoom(f) }
func (l listener) FleetForgotten(id messages.FleetID)  { delete(l.games.fleets, id) }
func (l listener) VersionRenamed(id messages.ScriptID) { l.hosting.Relabel(id) }

func (l listener) BuildChanged(b *messages.Build) { l.games.buildChanged(b) }

func (l listener) BuildDeleted(id messages.BuildID) { l.games.buildDeleted(id) }

func (l listener) FleetChanged(f *messages.Fleet) {
	l.hosting.Changed(f)
	l.games.launchServers(f)
}

func (l listener) FleetConfigured(f *messages.Fleet) {
	switch {
	case f.BuildID != "": // FleetChanged has said the rest
		l.games.tellUnable(f)
	case f.Server == nil: // otherwise FleetChanged has said all
		l.hosting.Configure(f)
	}
}

func (l listener) ContentChanged(id messages.ScriptID, limit time.Duration, done func([]string, bool)) {
	l.hosting.Reload(id, limit, done)
}

func (l listener) ComputeGone(f messages.FleetID, name string) {
	l.games.endServers(func(p *server) bool { return computeOf(p.id) == serverCompute{f, name} })
}

func (l listener) CapacityChanged(f *messages.Fleet, location string) {
	if location != "" {
		l.games.shrink(f, location)
	}
	l.hosting.Refill(f.ID)
	l.games.tellRoom(f)
}

func (l listener) LocationsRemoved(f *messages.Fleet, locations []string) {
	l.games.endAt(f.ID, locations, "fleet location deleted")
	l.games.endServers(func(p *server) bool { return p.id.FleetID == f.ID && slices.Contains(locations, p.compute.Location) })
	l.hosting.Refill(f.ID)
}

func (l listener) FleetClosed(f *messages.Fleet) {
	l.hosting.Remove(f.ID)
	l.games.endAt(f.ID, nil, "fleet deleted")
	l.games.endServers(func(p *server) bool { return p.id.FleetID == f.ID })
	l.games.tellEmpty(f.ID)
}

// endAt ends the game sessions of a fleet in the given locations. If locations is nil, it ends those in all locations.
func (gs *games) endAt(id messages.FleetID, locations []string, why string) {
	own := gs.fleetOf(id)
	for _, e := range gs.order {
		if e.fleet == own && e.runs() && (locations == nil || slices.Contains(locations, e.location)) {
			e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: why})
		}
	}
}

// tellEmpty tells the catalog if a fleet has no game sessions.
func (gs *games) tellEmpty(id messages.FleetID) {
	if gs.fleetOf(id).hosted() == 0 {
		gs.catalog.Emptied(id)
	}
}

// VersionReplaced implements hosting.Listener. With Options.EndEarlier, game sessions that run earlier contents accept
// no more players and end when they are empty.
func (gs *games) VersionReplaced(id messages.FleetID) {
	if !gs.o.EndEarlier {
		return
	}
	for _, e := range gs.order {
		if e.fleet.id != id || e.superseded || !e.runs() || e.process == nil || !e.process.Outdated() {
			continue
		}
		e.superseded = true
		g := e.published.Session()
		g.AcceptsPlayers = false
		e.published.Edit(g)
		e.ref.Tell(gamesession.EndWhenEmpty{On: true})
		gs.context.Log().Info().Str("game_session_id", string(e.id)).Str("version", e.process.Version()).Int("players", g.CurrentPlayers).
			Msg("a game session of an earlier version of the script takes no new players, and ends without any")
	}
}

// RoomFound implements hosting.Listener.
func (gs *games) RoomFound(id messages.FleetID) {
	if f := gs.catalog.Fleet(id); f != nil {
		gs.tellRoom(f)
	}
}
