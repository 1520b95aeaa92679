package placement

import (
	"troupe/actors/fleet"
	"troupe/actors/stage"
	"troupe/messages"
)

// Hosts is what placements need of those who host game sessions: one registry (fleet.Hosts), or
// the hosts of a cluster. Each reply is called once, from any goroutine; its error is a
// *messages.Error. Methods do not block.
type Hosts interface {
	// Candidates resolves the destinations of a queue as they are now: see fleet.Candidates.
	Candidates(destinations []string, reply func([]fleet.Candidate, error))
	// Launch starts a game session, and replies once it is durable; l.Notify is told what became
	// of it.
	Launch(l fleet.Launch, reply func(*messages.GameSession, error))
	// Seat reserves player sessions, all or none, and replies once they are durable.
	Seat(q messages.CreatePlayerSessions, reply func([]*messages.PlayerSession, error))
	// End ends a game session that no placement wants any more, whether that can be stored or
	// not.
	End(id messages.GameSessionID)
	// Watch has notify told fleet.RoomFor when a process becomes free, until it has stopped.
	Watch(notify *stage.Ref)
}

var _ Hosts = fleet.Hosts{}
