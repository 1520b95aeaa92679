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
	h.Registry.Tell(stage.Request[Candidates, []Candidate]{Request: Candidates{destinations}, Reply: reply})
}

// Launch sends Launch.
func (h Hosts) Launch(l Launch, reply func(*messages.GameSession, error)) {
	h.Registry.Tell(stage.Request[Launch, *messages.GameSession]{Request: l, Reply: reply})
}

// CreatePlayerSessions sends messages.CreatePlayerSessions.
func (h Hosts) CreatePlayerSessions(q messages.CreatePlayerSessions, reply func([]*messages.PlayerSession, error)) {
	h.Registry.Tell(stage.Request[messages.CreatePlayerSessions, []*messages.PlayerSession]{Request: q, Reply: reply})
}

// End sends GiveUp.
func (h Hosts) End(id messages.GameSessionID) { h.Registry.Tell(GiveUp{Session: id}) }

// Watch sends WatchRoom.
func (h Hosts) Watch(notify *stage.Ref) { h.Registry.Tell(WatchRoom{Notify: notify}) }
