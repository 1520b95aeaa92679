package serviceapi

import (
	"context"
	"iter"

	"troupe/messages"
)

// Backend is the host as the API uses it. Errors are *messages.Error or context errors;
// any other error is answered as an internal fault. All methods may be called from any
// goroutine, must return when ctx ends, and return records that do not change afterwards.
//
// The API has checked lengths, patterns and all rules that need no state. Ids
// arrive without the ARN around them, game session ids as ARNs in the form the
// host mints (service-api.md 2.2).
type Backend interface {
	// CreateGameSession resolves fleet or alias, keeps the idempotency token,
	// takes a server process and answers with the new record (service-api.md 2.6).
	CreateGameSession(ctx context.Context, req messages.CreateGameSession) (*messages.GameSession, error)

	// UpdateGameSession changes a game session. The error is InvalidGameSessionStatus if it
	// is ending or has ended, and InvalidRequest for more than 16 properties.
	UpdateGameSession(ctx context.Context, req messages.UpdateGameSession) (*messages.GameSession, error)

	// TerminateGameSession ends a game session and returns its record, which is TERMINATING.
	// Force does not wait for the game (service-api.md 2.6). The error is
	// InvalidGameSessionStatus if the game session is TERMINATED or in ERROR.
	TerminateGameSession(ctx context.Context, req messages.TerminateGameSession) (*messages.GameSession, error)

	// GameSessions answers in order of creation time, then id. An unknown game
	// session, fleet or alias is NotFound.
	GameSessions(ctx context.Context, q messages.GameSessionQuery) ([]*messages.GameSession, error)

	// ActiveGameSessions returns game sessions in no order. Each comes with the number of its
	// RESERVED and ACTIVE player sessions, which its record does not contain. The sequence
	// may be read several times.
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
	// DeleteFleet deletes a fleet and ends its game sessions.
	DeleteFleet(ctx context.Context, id messages.FleetID) error
	// UpdateRuntime replaces the runtime configuration of a fleet.
	UpdateRuntime(ctx context.Context, req messages.UpdateRuntime) (*messages.Fleet, error)
	// FleetEvents answers what happened to a fleet, oldest first.
	FleetEvents(ctx context.Context, id messages.FleetID) ([]messages.FleetEvent, error)

	FleetBackend

	// CreateScript unpacks the archive and makes a script of it.
	CreateScript(ctx context.Context, req messages.CreateScript) (*messages.Script, error)
	// UpdateScript changes a script. New game sessions run the new content, unless it fails
	// to start (realtime.md 19.1).
	UpdateScript(ctx context.Context, req messages.UpdateScript) (*messages.Script, error)
	// Scripts answers one script, or without an id all.
	Scripts(ctx context.Context, id messages.ScriptID) ([]*messages.Script, error)
	// DeleteScript deletes a script that no fleet uses (D-208).
	DeleteScript(ctx context.Context, id messages.ScriptID) error

	QueueBackend
	MatchmakingBackend
}
