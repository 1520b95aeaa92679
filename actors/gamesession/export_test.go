package gamesession

import (
	"time"

	"troupe/actors/player"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/messages"
)

// Route returns the name of a message's destination.
func Route(op int32, player messages.PeerID, group messages.GroupID) string {
	return [...]string{"nobody", "server", "player", "group"}[route(op, player, group)]
}

// GroupRef returns the actor of a group, or nil if there is none. It may be called only in callbacks.
func GroupRef(s script.Session, id messages.GroupID) *stage.Ref {
	if g := s.(*session).groups[id]; g != nil {
		return g.handle.Ref
	}
	return nil
}

// Player returns the player with a peer id. It may be called only in callbacks.
func Player(s script.Session, peer messages.PeerID) *player.Handle {
	return s.(*session).byPeer[peer].player
}

// PlayerSession returns the player of a player session. It may be called only in callbacks.
func PlayerSession(s script.Session, id messages.PlayerSessionID) *player.Handle {
	return s.(*session).byID[id].player
}

// Timers returns the number of running timers of a game session. It may be called only in callbacks.
func Timers(s script.Session) int { return s.(*session).c.Timers() }

// Ref returns the actor of a game session.
func Ref(s script.Session) *stage.Ref { return s.(*session).c.Self() }

// Do sends a message to the actor of a player session. The player may be leaving.
func Do(s script.Session, id messages.PlayerSessionID, msg any) {
	s.Do(func() {
		if p := s.(*session).byID[id]; p.ref != nil {
			p.ref.Tell(msg)
		}
	})
}

// ActorOf returns the actor of the player with a peer id. It may be called only in callbacks.
func ActorOf(s script.Session, peer messages.PeerID) *stage.Ref { return s.(*session).byPeer[peer].ref }

// UntilHealthCheck returns the time until the next health check of a game session whose last one was due at a time.
func UntilHealthCheck(due time.Time) time.Duration {
	a := &Actor{healthAt: due}
	return a.untilHealthCheck()
}
