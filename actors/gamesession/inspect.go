package gamesession

import (
	"cmp"
	"slices"
	"time"

	"troupe/actors/stage"
	"troupe/messages"
)

// lastEnd is why a player lost its connection, or left the game.
type lastEnd struct {
	reason string
	at     time.Time
}

// noteEnd keeps the reason for operators.
func (a *Actor) noteEnd(s *playerSession, reason string) {
	s.seldom().lastEnd = lastEnd{reason, a.c.Now()}
}

// onInspect answers with the state of the game session. The cost grows with its players.
func (a *Actor) onInspect(r stage.Request[messages.InspectGameSession, *messages.GameSessionState]) {
	state := &messages.GameSessionState{Players: make([]messages.PlayerState, 0, len(a.order))}
	for _, s := range a.order {
		if s.view.hidden.Load() {
			continue
		}
		record, end := s.view.record(&a.record), s.has().lastEnd
		p := messages.PlayerState{
			ID: record.ID, PlayerID: record.PlayerID, Status: record.Status, Created: record.Created, Terminated: record.Terminated,
			Peer: s.player.Peer, InGame: s.inRoster(), Reason: end.reason, ReasonAt: end.at,
		}
		s.player.Inspect(&p)
		state.Players = append(state.Players, p)
	}
	for id, g := range a.groups {
		members := g.handle.Members()
		shown := messages.GroupState{ID: id, Members: make([]messages.PeerID, len(members))}
		for i, m := range members {
			shown.Members[i] = m.Peer
		}
		state.Groups = append(state.Groups, shown)
	}
	slices.SortFunc(state.Groups, func(x, y messages.GroupState) int { return cmp.Compare(x.ID, y.ID) })
	r.Reply(state, nil)
}
