package messages

import "troupe/messages/tracing"

// CreateGameSession asks for a new game session on a fleet (service-api.md 2.6). Exactly one
// of FleetID and AliasID is set. The API has checked lengths and patterns.
type CreateGameSession struct {
	FleetID          FleetID
	AliasID          AliasID
	Location         string // empty: the fleet's home location
	Name             string
	CreatorID        string
	Data             string
	Properties       []Property
	MaxPlayers       int
	IdempotencyToken string // becomes the tail of the id; empty: a fresh one
	Trace            tracing.Context
}

// UpdateGameSession changes the attributes of a game session that are not nil. Properties are
// added, or replace properties with the same key (service-api.md 2.6).
type UpdateGameSession struct {
	ID             GameSessionID
	Name           *string
	MaxPlayers     *int
	AcceptsPlayers *bool // PlayerSessionCreationPolicy ACCEPT_ALL
	Protected      *bool // ProtectionPolicy FullProtection
	Properties     []Property
}

// CreatePlayerSessions reserves a player session for each player for 60 s, all or none
// (service-api.md 2.7).
type CreatePlayerSessions struct {
	GameSessionID GameSessionID
	Players       []NewPlayer
}

// NewPlayer is one player session to reserve.
type NewPlayer struct {
	PlayerID   PlayerID
	PlayerData string
}

// TerminateGameSession ends a game session (service-api.md 2.6). Without Force the game's
// OnProcessTerminate runs first.
type TerminateGameSession struct {
	GameSessionID GameSessionID
	Force         bool
}

// ActiveGameSessionQuery selects the ACTIVE game sessions of a fleet, in one location or, if
// Location is empty, in all. Exactly one of FleetID and AliasID is set.
type ActiveGameSessionQuery struct {
	FleetID  FleetID
	AliasID  AliasID
	Location string
}

// GameSessionQuery selects game sessions by ID or, if that is empty, by FleetID or AliasID.
// Status 0 means any.
type GameSessionQuery struct {
	ID       GameSessionID
	FleetID  FleetID
	AliasID  AliasID
	Location string
	Status   GameSessionStatus
}

// PlayerSessionQuery selects player sessions by exactly one of its ids. Status is used with
// GameSessionID only; 0 means any.
type PlayerSessionQuery struct {
	GameSessionID   GameSessionID
	PlayerID        PlayerID
	PlayerSessionID PlayerSessionID
	ShortID         string // as PlayerSessionID.Short returns it
	Status          PlayerSessionStatus
}
