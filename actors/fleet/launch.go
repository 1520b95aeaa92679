package fleet

import (
	"troupe/actors/stage"
	"troupe/messages"
)

// What placements ask of the registry.
type (
	// Launch starts a game session for a placement, at a fleet and location with room;
	// FleetCapacityExceeded if there is none. It is asked by Request[Launch,
	// *messages.GameSession] and answered once the ACTIVATING game session is durable.
	// Request names the fleet and location; its IdempotencyToken is empty, and the tail
	// of the id is a bare UUID (D34).
	Launch struct {
		Request        messages.CreateGameSession
		MatchmakerData string
		// Notify is told Launched, once.
		Notify *stage.Ref
	}
	// Launched says what became of a Launch: the game session is ACTIVE, or has ended
	// before it was.
	Launched struct {
		ID     messages.GameSessionID
		Active bool
		Text   string // why it ended
	}
	// Candidates resolves the destinations of a queue as they are now (service-api.md
	// 3.1), asked by Request[Candidates, []Candidate]. Aliases that are TERMINAL, and
	// fleets that are unknown or not ACTIVE, are left out.
	Candidates struct {
		Destinations []string // ARNs
	}
	// Candidate is a fleet and location that a placement may try.
	Candidate struct {
		Destination  int // index in Destinations: the lowest that leads here
		FleetID      messages.FleetID
		Location     string
		Cost         float64 // per hour
		Room         bool
		Certificates bool
	}
	// WatchRoom has the registry tell Notify RoomFor whenever a process of a fleet
	// location becomes free or a fleet ACTIVE.
	WatchRoom struct{ Notify *stage.Ref }
	// RoomFor says that a game session may now fit there.
	RoomFor struct {
		FleetID  messages.FleetID
		Location string
	}
)
