package messages

import (
	"time"
)

// CreateGameSession creates a game session on the fleet given by FleetID or AliasID (service-api.md 2.6). The API has
// already checked lengths and patterns.
type CreateGameSession struct {
	ToCatalog[*GameSession]
	FleetID          FleetID
	AliasID          AliasID
	Location         string // empty means the fleet's home location
	Name             string
	CreatorID        string
	Data             string
	Properties       []Property
	MaxPlayers       int
	IdempotencyToken string // becomes the last part of the id
	Tail             string // the last part of the id if there is no token (see WithID)
}

// UpdateGameSession changes those attributes that are not nil. Properties are added, or replaced if the key exists
// (service-api.md 2.6).
type UpdateGameSession struct {
	ToGameSession[*GameSession]
	ID             GameSessionID
	Name           *string
	MaxPlayers     *int
	AcceptsPlayers *bool // PlayerSessionCreationPolicy ACCEPT_ALL
	Protected      *bool // ProtectionPolicy FullProtection
	Properties     []Property
}

// CreatePlayerSessions reserves a player session for each player, for 60 s. Either all are reserved or none
// (service-api.md 2.7).
type CreatePlayerSessions struct {
	ToGameSession[[]*PlayerSession]
	GameSessionID GameSessionID
	Players       []NewPlayer
}

// NewPlayer describes one player session to reserve.
type NewPlayer struct {
	PlayerID   PlayerID
	PlayerData string
}

// TerminateGameSession ends a game session (service-api.md 2.6). Unless Force is set, OnProcessTerminate runs first.
type TerminateGameSession struct {
	ToGameSession[*GameSession]
	GameSessionID GameSessionID
	Force         bool
}

// GameSessionQuery requests a game session. The error is NotFound if the game session is unknown.
type GameSessionQuery struct {
	ToGameSession[*GameSession]
	ID GameSessionID
}

// FindGameSessions lists the game sessions of the fleet given by FleetID or AliasID, or of all fleets if both are
// empty. The error is NotFound if the fleet or the alias is unknown, or if all fleets are searched and the location is
// unknown. It is InvalidRequest if the fleet does not have the location, or if an expression is invalid
// (messages/search).
type FindGameSessions struct {
	ToEveryHost[FoundGameSessions]
	FleetID  FleetID
	AliasID  AliasID
	Location string            // empty means all
	Status   GameSessionStatus // 0 means any
	Filter   string            // empty matches all game sessions
	Sort     string            // empty means oldest first or, with Newest, newest first
	Newest   bool              // only if Sort is empty
	All      bool              // in a cluster: a host that does not answer is an error; otherwise its game sessions are left out
	Open     bool              // in a cluster: without the game sessions of hosts that drain, because these take no more players
	After    *GameSessionPosition
	Limit    int // 0 means no limit
	TextMax  int // maximum length of the text in Next, in bytes
}

// FoundGameSessions is the answer to FindGameSessions.
type FoundGameSessions struct {
	GameSessions []*GameSession
	Matched      int                  // total number of matching game sessions on all pages
	Next         *GameSessionPosition // value of After for the next page; nil if this is the last page
	Silent       []string             // in a cluster: names of the hosts that did not answer; their game sessions are missing
}

// GameSessionPosition is the position of a game session in a sort order: its sort value, and its id as the tie-breaker.
type GameSessionPosition struct {
	Absent bool   // the game session has no such property or name
	Number int64  // value of a numeric sort field
	Text   string // value of a text sort field
	ID     GameSessionID
	Cut    bool // Text was longer than TextMax and has been cut
}

// PlayerSessionQuery selects player sessions by exactly one of its ids. Status may be combined only with GameSessionID;
// 0 means any status.
type PlayerSessionQuery struct {
	ToEveryHost[[]*PlayerSession]
	GameSessionID   GameSessionID
	PlayerID        PlayerID
	PlayerSessionID PlayerSessionID
	ShortID         string // in the form that PlayerSessionID.Short returns
	Status          PlayerSessionStatus
}

// Route implements Request. A query with a GameSessionID goes to the owner of that game session.
func (q PlayerSessionQuery) Route() Route {
	if q.GameSessionID != "" {
		return RouteGameSession
	}
	return RouteEveryHost
}

// Drain stops this host from accepting new game sessions, player sessions and placements, and ends all its game
// sessions. Empty game sessions end at once. Others end when the last player has left or when Grace is over. Drain is
// answered when all have ended, or with an error after CancelDrain. Another Drain can only shorten the grace period.
type Drain struct {
	ToThisHost[None]
	Grace time.Duration
}

// DeadLetterError returns nil, because a host that has stopped has no game sessions left.
func (Drain) DeadLetterError() error { return nil }

// CancelDrain ends a Drain. The host again accepts new game sessions, player sessions and placements.
type CancelDrain struct{ ToThisHost[None] }

// DepthQuery requests the numbers of waiting messages on this host.
type DepthQuery struct{ ToThisHost[Depths] }

// Depths holds numbers of waiting messages: for the registry, for all game sessions together, and for the game session
// that has the most.
type Depths struct{ Registry, GameSessions, Busiest int }
