package fleet

import (
	"troupe/actors/stage"
	"troupe/messages"
)

// Hosts implements placement.Hosts by a registry. Its methods may be called from any
// goroutine.
type Hosts struct{ Registry *stage.Ref }

// Candidates sends Candidates.
func (h Hosts) Candidates(destinations []string, reply func([]Candidate, error)) {
	stage.Send(h.Registry, Candidates{Destinations: destinations}, reply)
}

// Launch sends Launch.
func (h Hosts) Launch(l Launch, reply func(*messages.GameSession, error)) {
	stage.Send(h.Registry, l, reply)
}

// CreatePlayerSessions sends messages.CreatePlayerSessions.
func (h Hosts) CreatePlayerSessions(q messages.CreatePlayerSessions, reply func([]*messages.PlayerSession, error)) {
	stage.Send(h.Registry, q, reply)
}

// End sends GiveUp.
func (h Hosts) End(id messages.GameSessionID) { h.Registry.Tell(GiveUp{Session: id}) }

// Watch sends WatchRoom.
func (h Hosts) Watch(notify *stage.Ref) { h.Registry.Tell(WatchRoom{Notify: notify}) }
