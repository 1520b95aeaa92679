package fleet

import (
	"troupe/actors/stage"
	"troupe/messages"
)

// Hosts is a registry for placements: see placement.Hosts. Its methods may be called from any
// goroutine.
type Hosts struct{ Registry *stage.Ref }

// Candidates asks for Candidates.
func (h Hosts) Candidates(destinations []string, reply func([]Candidate, error)) {
	h.Registry.Tell(stage.Request[Candidates, []Candidate]{Request: Candidates{destinations}, Reply: reply})
}

// Launch asks for a Launch.
func (h Hosts) Launch(l Launch, reply func(*messages.GameSession, error)) {
	h.Registry.Tell(stage.Request[Launch, *messages.GameSession]{Request: l, Reply: reply})
}

// Seat asks for player sessions.
func (h Hosts) Seat(q messages.CreatePlayerSessions, reply func([]*messages.PlayerSession, error)) {
	h.Registry.Tell(stage.Request[messages.CreatePlayerSessions, []*messages.PlayerSession]{Request: q, Reply: reply})
}

// End is GiveUp.
func (h Hosts) End(id messages.GameSessionID) { h.Registry.Tell(GiveUp{Session: id}) }

// Watch is WatchRoom.
func (h Hosts) Watch(notify *stage.Ref) { h.Registry.Tell(WatchRoom{Notify: notify}) }
