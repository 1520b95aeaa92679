package fleet

import (
	"time"

	"troupe/messages"
)

// Requests to the registry. Reply is called exactly once, from any goroutine;
// the error is a *messages.Error.
type (
	// CreateGameSession starts a game session.
	CreateGameSession struct {
		Request messages.CreateGameSession
		Reply   func(*messages.GameSession, error)
	}
	// CreatePlayerSessions reserves seats.
	CreatePlayerSessions struct {
		Request messages.CreatePlayerSessions
		Reply   func([]*messages.PlayerSession, error)
	}
	// GameSessions reads game sessions, oldest first.
	GameSessions struct {
		Query messages.GameSessionQuery
		Reply func([]*messages.GameSession, error)
	}
	// PlayerSessions reads player sessions, oldest first.
	PlayerSessions struct {
		Query messages.PlayerSessionQuery
		Reply func([]*messages.PlayerSession, error)
	}
	// Fleets reads all fleets.
	Fleets struct {
		Reply func([]*messages.Fleet, error)
	}
	// Depth adds up what waits in the mailboxes of game sessions.
	Depth struct {
		Reply func(Depths, error)
	}
	// Drain ends all game sessions: those without players at once, the others
	// when their last player has left or Grace is over. Then Done is called. A
	// second Drain shortens the grace.
	Drain struct {
		Grace time.Duration
		Done  func()
	}
)

// Depths says how many messages wait: for the registry, for all game sessions
// together, and for the busiest one.
type Depths struct{ Registry, GameSessions, Busiest int }

// Undelivered implements stage.Undeliverable.
func (m Depth) Undelivered() { m.Reply(Depths{}, unavailable()) }

func unavailable() error {
	return messages.Errorf(messages.Unavailable, "the host is shutting down")
}

// Undelivered implements stage.Undeliverable.
func (m CreateGameSession) Undelivered() { m.Reply(nil, unavailable()) }

// Undelivered implements stage.Undeliverable.
func (m CreatePlayerSessions) Undelivered() { m.Reply(nil, unavailable()) }

// Undelivered implements stage.Undeliverable.
func (m GameSessions) Undelivered() { m.Reply(nil, unavailable()) }

// Undelivered implements stage.Undeliverable.
func (m PlayerSessions) Undelivered() { m.Reply(nil, unavailable()) }

// Undelivered implements stage.Undeliverable.
func (m Fleets) Undelivered() { m.Reply(nil, unavailable()) }

// Undelivered implements stage.Undeliverable.
func (m Drain) Undelivered() { m.Done() }

type graceOver struct{}

type endOne struct{ id messages.GameSessionID }
