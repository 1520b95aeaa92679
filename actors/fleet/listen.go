package fleet

import (
	"strconv"

	"troupe/actors/fleet/hosting"
	"troupe/actors/gamesession"
	"troupe/actors/script/bundle"
	"troupe/messages"
)

// Contents implements hosting.Catalog.
func (r *Registry) Contents(id messages.ScriptID) (newest, earlier *hosting.Content) {
	s := r.scripts[id]
	if s == nil {
		return nil, nil
	}
	content := func(number int, version string, b *bundle.Bundle) *hosting.Content {
		var named bundle.Bundle
		if b != nil {
			named = *b
		}
		named.Version, named.NodeVersion = labelOf(number, version), s.record.NodeVersion
		return &hosting.Content{Number: number, Version: named.Version, Bundle: &named}
	}
	newest = content(s.record.Contents, s.record.Version, s.bundle)
	newest.Missing = s.missing
	if s.good != nil && s.good.bundle != nil {
		earlier = content(s.good.Contents, s.good.Version, s.good.bundle)
	}
	return newest, earlier
}

// versionShown is how many characters of the caller's name of a version are shown.
const versionShown = 64

// Version is what ScriptVersion of a game session shows that runs a script's newest content.
func Version(s *messages.Script) string { return labelOf(s.Contents, s.Version) }

// labelOf names a content: its number, which no other has, and what the caller calls it.
func labelOf(contents int, v string) string {
	number := strconv.Itoa(contents)
	if v == "" {
		return number
	}
	if short := []rune(v); len(short) > versionShown {
		v = string(short[:versionShown]) + "..."
	}
	return number + " (" + v + ")"
}

// FleetEvent implements hosting.Listener.
func (r *Registry) FleetEvent(id messages.FleetID, code, message string) {
	if f := r.fleets[id]; f != nil {
		f.events.add(r.context.Now(), code, message)
	}
}

// FleetRuns implements hosting.Listener: a fleet that is being made becomes ACTIVE.
func (r *Registry) FleetRuns(id messages.FleetID) {
	if f := r.fleets[id]; f != nil && f.judged() {
		for _, s := range []messages.FleetStatus{messages.FleetBuilding, messages.FleetActivating, messages.FleetActive} {
			r.setFleetStatus(r.context, f, s)
		}
	}
}

// FleetFails implements hosting.Listener.
func (r *Registry) FleetFails(id messages.FleetID) {
	if f := r.fleets[id]; f != nil && f.judged() && f.record.Status != messages.FleetErrored {
		r.setFleetStatus(r.context, f, messages.FleetErrored)
	}
}

// judged reports whether a fleet's status follows from what its processes do.
func (f *fleetEntry) judged() bool {
	s := f.record.Status
	return s != messages.FleetActive && s != messages.FleetDeleting && s != messages.FleetTerminated
}

// ContentRuns implements hosting.Listener. A script's earlier content makes way for the newest
// one once no process needs it.
func (r *Registry) ContentRuns(id messages.ScriptID, everywhere bool) {
	if s := r.scripts[id]; s != nil {
		if s.ran = true; everywhere {
			r.dropEarlier(s)
		}
	}
}

// VersionReplaced implements hosting.Listener. Game sessions of what a fleet ran before end
// when they are empty (Options.EndEarlier).
func (r *Registry) VersionReplaced(id messages.FleetID) {
	if !r.o.EndEarlier {
		return
	}
	for _, e := range r.order {
		if e.fleet.record.ID != id || e.earlier || e.ref == nil || e.over || e.process == nil || !e.process.Outdated() {
			continue
		}
		e.earlier = true
		g := e.published.Session()
		e.published.Edit(gamesession.Edits{Name: g.Name, Properties: g.Properties, MaxPlayers: g.MaxPlayers, Protected: g.Protected})
		e.ref.Tell(gamesession.EndWhenEmpty{On: true})
		r.context.Log().Info().Str("game_session_id", string(e.id)).Str("version", e.process.Version()).Int("players", g.CurrentPlayers).
			Msg("a game session of an earlier version of the script takes no new players, and ends without any")
	}
}

// RoomFound implements hosting.Listener.
func (r *Registry) RoomFound(id messages.FleetID) {
	if f := r.fleets[id]; f != nil {
		r.tellRoom(f, "")
	}
}
