package gamesession

import (
	"cmp"
	"slices"
	"time"

	"troupe/actors/player"
	"troupe/actors/stage"
	"troupe/messages"
)

// lastEnd records why a player lost its connection or left the game.
type lastEnd struct {
	reason string
	at     time.Time
}

// noteEnd records the reason for operators.
func (a *Actor) noteEnd(s *playerSession, reason string) {
	s.seldom().lastEnd = lastEnd{reason, a.c.Now()}
}

// momentsMax limits the number of events in a game session's timeline.
const momentsMax = 100

func (a *Actor) note(s *player.Handle, kind messages.MomentKind, text string) {
	if len(a.timeline) == momentsMax {
		a.timeline = slices.Delete(a.timeline, 0, 1)
	}
	a.timeline = append(a.timeline, messages.Moment{At: a.c.Now(), Kind: kind, Player: s.PlayerID, Peer: s.Peer, Text: text})
}

// onKick removes a player on behalf of an operator.
func (a *Actor) onKick(m stage.Request[messages.KickPlayer, int]) {
	if a.exit != nil || a.phase >= closing {
		m.Reply(0, m.Request.DeadLetterError())
		return
	}
	n := 0
	for _, s := range a.order {
		if a.o.Server && s.player.PlayerID == m.Request.Player && !s.view.state().Final() && !s.setting {
			a.setPlayerStatus(s, messages.PlayerSessionCompleted) // its server is not told: the protocol has no message for it
			n++
		}
		if s.player.PlayerID == m.Request.Player && s.ref != nil && !s.view.state().Final() {
			a.kick(s, m.Request.Reason)
			n++
		}
	}
	m.Reply(n, nil)
}

// onInspect answers with the state of the game session. Its cost grows with the number of players.
func (a *Actor) onInspect(r stage.Request[messages.InspectGameSession, *messages.GameSessionState]) {
	state := &messages.GameSessionState{Players: make([]messages.PlayerState, 0, len(a.order)), Moments: slices.Clone(a.timeline)}
	for _, s := range a.order {
		if s.view.hidden.Load() {
			continue
		}
		record, end := s.view.record(&a.record), s.has().lastEnd
		p := messages.PlayerState{
			ID: record.ID, PlayerID: record.PlayerID, Status: record.Status, Created: record.Created, Terminated: record.Terminated,
			Peer: s.player.Peer, InGame: s.inRoster(), Reason: end.reason, ReasonAt: end.at, Received: s.received,
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
