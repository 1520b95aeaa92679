package messages

// Candidates requests the current fleets and locations for the destinations of a queue (service-api.md 3.1). The answer
// omits TERMINAL aliases, and fleets that are unknown or not ACTIVE. If nothing is left, the error says why.
type Candidates struct {
	ToEveryHost[[]Candidate]
	Destinations []string // ARNs
}

// Candidate is a fleet and a location that a placement may try.
type Candidate struct {
	Destination  int // the lowest index in Candidates.Destinations that resolves to this fleet
	FleetID      FleetID
	Location     string
	Cost         float64 // cost per hour
	Room         bool
	Certificates bool
}

// AwaitRoom is answered as soon as a fleet may have more room for game sessions than at Since, because a process has
// become free or a fleet has become ACTIVE.
type AwaitRoom struct {
	ToEveryHost[Room]
	Since uint64 // Version of the previous answer; 0 if there was none
}

// Room is the answer to AwaitRoom.
type Room struct{ Version uint64 }

// Launch starts a game session for a placement. It is answered when the ACTIVATING game session is durable. The error
// is FleetCapacityExceeded if the location has no room. Request contains the fleet, the location and, in Tail, a UUID
// for the id of the game session. The IdempotencyToken of Request is not used.
type Launch struct {
	ToCatalog[*GameSession]
	Request        CreateGameSession
	MatchmakerData string
}

// AwaitActivation is answered when a game session has become ACTIVE, or has ended without becoming ACTIVE. The error is
// NotFound if the game session is unknown.
type AwaitActivation struct {
	ToGameSession[Activation]
	ID GameSessionID
}

// Activation is the answer to AwaitActivation.
type Activation struct {
	Active bool
	Text   string // reason why the game session ended
}

// GiveUp ends a game session that its placement no longer needs, even if the store refuses to record the end.
type GiveUp struct {
	ToGameSession[None]
	ID GameSessionID
}

// AwaitSeats is answered when the seats of a game session have changed since Since, when its game has asked for
// backfill, or when the game session is over. A second AwaitSeats for the same game session ends the first one, which
// is answered with the current seats. The error is NotFound if the game session is unknown.
type AwaitSeats struct {
	ToGameSession[SeatsReport]
	ID    GameSessionID
	Since uint64 // Version of the previous answer; 0 if there was none
}

// SeatsReport is the answer to AwaitSeats.
type SeatsReport struct {
	Version uint64
	Seats   GameSeats
	Asks    []AskBackfill // requests of the game since the previous answer, oldest first
}
