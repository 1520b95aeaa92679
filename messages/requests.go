package messages

import (
	"time"
)

// CreateGameSession makes a game session, by FleetID or AliasID (service-api.md 2.6). The API has checked lengths and patterns.
type CreateGameSession struct {
	ToCatalog[*GameSession]
	FleetID          FleetID
	AliasID          AliasID
	Location         string // empty: the fleet's home location
	Name             string
	CreatorID        string
	Data             string
	Properties       []Property
	MaxPlayers       int
	IdempotencyToken string // becomes the tail of the id
	Tail             string // of the id without a token: see WithID
}

// UpdateGameSession changes the attributes that are not nil. Properties add or replace by key (service-api.md 2.6).
type UpdateGameSession struct {
	ToGameSession[*GameSession]
	ID             GameSessionID
	Name           *string
	MaxPlayers     *int
	AcceptsPlayers *bool // PlayerSessionCreationPolicy ACCEPT_ALL
	Protected      *bool // ProtectionPolicy FullProtection
	Properties     []Property
}

// CreatePlayerSessions reserves a player session per player for 60 s, all or none (service-api.md 2.7).
type CreatePlayerSessions struct {
	ToGameSession[[]*PlayerSession]
	GameSessionID GameSessionID
	Players       []NewPlayer
}

// NewPlayer is one player session to reserve.
type NewPlayer struct {
	PlayerID   PlayerID
	PlayerData string
}

// TerminateGameSession ends a game session (service-api.md 2.6), after OnProcessTerminate unless Force is set.
type TerminateGameSession struct {
	ToGameSession[*GameSession]
	GameSessionID GameSessionID
	Force         bool
}

// GameSessionQuery asks for a game session. An unknown one is NotFound.
type GameSessionQuery struct {
	ToGameSession[*GameSession]
	ID GameSessionID
}

// FindGameSessions lists those of a fleet, by FleetID or AliasID, or of all. NotFound: a fleet, an alias or, of all fleets, a location;
// InvalidRequest: a location that the fleet lacks, or a bad expression (messages/search).
type FindGameSessions struct {
	ToEveryHost[FoundGameSessions]
	FleetID  FleetID
	AliasID  AliasID
	Location string            // empty: all
	Status   GameSessionStatus // 0: any
	Filter   string            // empty: all match
	Sort     string            // empty: oldest first, or
	Newest   bool              // newest first
	After    *GameSessionPosition
	Limit    int // 0: all
	TextMax  int // bytes of text in Next
}

// FoundGameSessions is the answer to FindGameSessions.
type FoundGameSessions struct {
	GameSessions []*GameSession
	Matched      int                  // all that match, on any page
	Next         *GameSessionPosition // the After of the next page; nil: this is the last one
}

// GameSessionPosition is the place of a game session in an order: its sort value, and its id as the tie-breaker.
type GameSessionPosition struct {
	Absent bool   // it has no such property, or name
	Number int64  // or
	Text   string // of the operand
	ID     GameSessionID
	Cut    bool // Text was longer than TextMax
}

// PlayerSessionQuery selects by exactly one of its ids. Status goes with GameSessionID only; 0 means any.
type PlayerSessionQuery struct {
	ToEveryHost[[]*PlayerSession]
	GameSessionID   GameSessionID
	PlayerID        PlayerID
	PlayerSessionID PlayerSessionID
	ShortID         string // as PlayerSessionID.Short returns it
	Status          PlayerSessionStatus
}

// Route implements Request: a query that names a game session goes to its owner.
func (q PlayerSessionQuery) Route() Route {
	if q.GameSessionID != "" {
		return RouteGameSession
	}
	return RouteEveryHost
}

// Drain refuses new game sessions, player sessions and placements here, and ends all game sessions: empty ones at once, others when the
// last player has left or Grace is over. The answer comes then, or an error after CancelDrain. Another one may only shorten the grace.
type Drain struct {
	ToThisHost[None]
	Grace time.Duration
}

// DeadLetterError is nil: a host that has stopped has no game sessions left.
func (Drain) DeadLetterError() error { return nil }

// CancelDrain ends a Drain, and accepts new game sessions, player sessions and placements again.
type CancelDrain struct{ ToThisHost[None] }

// DepthQuery asks for the numbers of messages that wait on this host.
type DepthQuery struct{ ToThisHost[Depths] }

// Depths are numbers of waiting messages: for the registry, for all game sessions together, and for the game session with the most.
type Depths struct{ Registry, GameSessions, Busiest int }
