package placement

import (
	"troupe/actors/fleet"
	"troupe/actors/stage"
	"troupe/messages"
)

// Hosts runs the game sessions of placements: one registry (fleet.Hosts), or the hosts of a
// cluster. Each reply is called once, from any goroutine; its error is a *messages.Error.
// Methods do not block.
type Hosts interface {
	// Candidates resolves the destinations of a queue as they are now: see fleet.Candidates.
	Candidates(destinations []string, reply func([]fleet.Candidate, error))
	// Launch starts a game session, and replies once it is durable. l.Notify receives
	// fleet.Launched when the game session is ACTIVE or has failed.
	Launch(l fleet.Launch, reply func(*messages.GameSession, error))
	// CreatePlayerSessions reserves player sessions, all or none, and replies once they are
	// durable.
	CreatePlayerSessions(q messages.CreatePlayerSessions, reply func([]*messages.PlayerSession, error))
	// End ends a game session that no placement needs any more, even if the store refuses its
	// end.
	End(id messages.GameSessionID)
	// Watch sends fleet.RoomFor to notify when a process becomes free, until notify has stopped.
	Watch(notify *stage.Ref)
}

var _ Hosts = fleet.Hosts{}
