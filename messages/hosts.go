package messages

// Candidates resolves the destinations of a queue as they are now (service-api.md 3.1). The answer leaves out TERMINAL aliases, and
// fleets that are unknown or not ACTIVE; if none is left, the error says why.
type Candidates struct {
	ToEveryHost[[]Candidate]
	Destinations []string // ARNs
}

// Candidate is a fleet and location that a placement may try.
type Candidate struct {
	Destination  int // the lowest index in Destinations that resolves to this fleet
	FleetID      FleetID
	Location     string
	Cost         float64 // per hour
	Room         bool
	Certificates bool
}

// AwaitRoom is answered once a fleet may have more room for game sessions than at Since: a process is free, or a fleet is ACTIVE.
type AwaitRoom struct {
	ToEveryHost[Room]
	Since uint64 // the Version of the answer before; 0: none
}

// Room is the answer to AwaitRoom.
type Room struct{ Version uint64 }

// Launch starts a game session for a placement. It is answered once the ACTIVATING game session is durable, or with
// FleetCapacityExceeded if the location has no room. Request names the fleet, the location and, in Tail, a UUID for its id; its
// IdempotencyToken is not used.
type Launch struct {
	ToCatalog[*GameSession]
	Request        CreateGameSession
	MatchmakerData string
}

// AwaitActivation is answered once a game session is ACTIVE, or has ended before it became so. One that is not known is NotFound.
type AwaitActivation struct {
	ToGameSession[Activation]
	ID GameSessionID
}

// Activation is the answer to AwaitActivation.
type Activation struct {
	Active bool
	Text   string // why it ended
}

// GiveUp ends a game session that its placement does not need any more, even if the store refuses the end.
type GiveUp struct {
	ToGameSession[None]
	ID GameSessionID
}

// AwaitSeats is answered once the seats of a game session have changed after Since, its game has asked for backfill, or it is over. A
// second one for the same game session ends the first, which is answered with the seats as they are. A game session that is not known is
// NotFound.
type AwaitSeats struct {
	ToGameSession[SeatsReport]
	ID    GameSessionID
	Since uint64 // the Version of the answer before; 0: none
}

// SeatsReport is the answer to AwaitSeats.
type SeatsReport struct {
	Version uint64
	Seats   GameSeats
	Asks    []AskBackfill // of the game since the answer before, the oldest first
}
