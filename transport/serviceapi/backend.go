package serviceapi

import (
	"context"
	"iter"

	"troupe/messages"
)

// Backend is what the API needs of the host. Errors are *messages.Error or
// context errors; anything else is answered as an internal fault. All methods
// may be called from any goroutine, must return when ctx ends, and return
// records that nobody changes afterwards.
//
// The API has checked lengths, patterns and all rules that need no state. Ids
// arrive without the ARN around them, game session ids as ARNs in the form the
// host mints (service-api.md 2.2).
type Backend interface {
	// CreateGameSession resolves fleet or alias, keeps the idempotency token,
	// takes a server process and answers with the new record (service-api.md 2.6).
	CreateGameSession(ctx context.Context, req messages.CreateGameSession) (*messages.GameSession, error)

	// UpdateGameSession changes a game session; one that ends or has ended is
	// InvalidGameSessionStatus, more than 16 properties are InvalidRequest.
	UpdateGameSession(ctx context.Context, req messages.UpdateGameSession) (*messages.GameSession, error)

	// TerminateGameSession ends a game session and answers with the record as
	// TERMINATING; Force does not wait for the game (service-api.md 2.6). TERMINATED
	// and ERROR are InvalidGameSessionStatus.
	TerminateGameSession(ctx context.Context, req messages.TerminateGameSession) (*messages.GameSession, error)

	// GameSessions answers in order of creation time, then id. An unknown game
	// session, fleet or alias is NotFound.
	GameSessions(ctx context.Context, q messages.GameSessionQuery) ([]*messages.GameSession, error)

	// ActiveGameSessions answers in no order. Each game session comes with the number of
	// its player sessions that are RESERVED or ACTIVE, which its record does not have.
	// The sequence may be read several times.
	ActiveGameSessions(ctx context.Context, q messages.ActiveGameSessionQuery) (iter.Seq2[*messages.GameSession, int], error)

	// CreatePlayerSessions reserves one seat per player, all or none, and
	// answers in the order of the request (service-api.md 2.7).
	CreatePlayerSessions(ctx context.Context, req messages.CreatePlayerSessions) ([]*messages.PlayerSession, error)

	// PlayerSessions answers in order of creation time, then id. An unknown
	// game session or player session is NotFound, an unknown player an empty list.
	PlayerSessions(ctx context.Context, q messages.PlayerSessionQuery) ([]*messages.PlayerSession, error)

	// Fleets answers all fleets, terminated ones for a while.
	Fleets(ctx context.Context) ([]*messages.Fleet, error)
	// CreateFleet answers with a fleet that is NEW. An unknown script is NotFound.
	CreateFleet(ctx context.Context, req messages.CreateFleet) (*messages.Fleet, error)
	// DeleteFleet ends a fleet and what runs on it.
	DeleteFleet(ctx context.Context, id messages.FleetID) error
	// UpdateRuntime replaces what a fleet runs.
	UpdateRuntime(ctx context.Context, req messages.UpdateRuntime) (*messages.Fleet, error)
	// FleetEvents answers what happened to a fleet, oldest first.
	FleetEvents(ctx context.Context, id messages.FleetID) ([]messages.FleetEvent, error)

	FleetBackend

	// CreateScript unpacks the archive and makes a script of it.
	CreateScript(ctx context.Context, req messages.CreateScript) (*messages.Script, error)
	// UpdateScript changes a script. New game sessions run its content from then on,
	// unless that does not run at all (realtime.md 19.1).
	UpdateScript(ctx context.Context, req messages.UpdateScript) (*messages.Script, error)
	// Scripts answers one script, or without an id all.
	Scripts(ctx context.Context, id messages.ScriptID) ([]*messages.Script, error)
	// DeleteScript deletes a script that no fleet uses (D-208).
	DeleteScript(ctx context.Context, id messages.ScriptID) error

	QueueBackend
}
