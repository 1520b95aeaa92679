package gamesession

import (
	"cmp"
	"slices"
	"time"

	"troupe/messages"
)

// NewRestored returns the Publisher of a game session of an earlier process. The players may be in any order. If the
// game session is TERMINATED, the players get a final status. server is that of ForServer.
func NewRestored(g *messages.GameSession, players []messages.PlayerSession, server bool) *Publisher {
	p := NewPublisher(g)
	p.server = server
	slices.SortFunc(players, func(a, b messages.PlayerSession) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
	})
	all := make([]playerSessionView, len(players)) // one allocation for all, because there may be many
	views := make([]*playerSessionView, len(players))
	for i, s := range players {
		views[i] = &all[i]
		all[i].id, all[i].playerID, all[i].data, all[i].created = s.ID, s.PlayerID, s.PlayerData, s.Created
		all[i].set(s.Status, s.Terminated)
	}
	p.playerSessions.Store(&views)
	if g.Status >= messages.GameSessionTerminated {
		p.endPlayers(g.Terminated)
	}
	return p
}

// End marks a game session that has no actor, and its player sessions, as ended.
func (p *Publisher) End(now time.Time, text string) {
	p.endPlayers(now)
	p.change(func(g *messages.GameSession) {
		g.Status, g.Terminated, g.EndText = messages.GameSessionTerminated, now, text
	})
}

// endPlayers sets the final status of all player sessions.
func (p *Publisher) endPlayers(now time.Time) {
	for _, s := range *p.playerSessions.Load() {
		switch s.state() {
		case messages.PlayerSessionActive:
			s.set(messages.PlayerSessionCompleted, now)
		case messages.PlayerSessionReserved:
			status := messages.PlayerSessionTimedOut // D-215
			if p.server {
				status = messages.PlayerSessionCompleted // D-406
			}
			s.set(status, now)
		}
	}
	p.count(func() {
		for _, s := range *p.playerSessions.Load() {
			p.countShown(s)
		}
		p.reserved = 0
	})
}
