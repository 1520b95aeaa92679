package fleet

import (
	"time"

	"troupe/actors/script/bundle"
	"troupe/actors/stage"
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
	// Drain refuses new game sessions and seats, and ends all game sessions: those
	// nobody has a seat in at once, the others when their last player has left or Grace
	// is over. Then Done is called, or with ErrDrainCancelled after a CancelDrain. A
	// second Drain may shorten the grace, not extend it.
	Drain struct {
		Grace time.Duration
		Done  func(error)
	}
	// CancelDrain takes new game sessions and seats again. It is an error if there is no
	// drain, or if its grace is over.
	CancelDrain struct{}
)

// Depths says how many messages wait: for the registry, for all game sessions
// together, and for the busiest one.
type Depths struct{ Registry, GameSessions, Busiest int }

// Request asks the registry for something. Reply is called exactly once, as
// with the others.
type Request[Q, A any] struct {
	Request Q
	Reply   func(A, error)
}

// Undelivered implements stage.Undeliverable.
func (m Request[Q, A]) Undelivered() {
	var none A
	m.Reply(none, unavailable())
}

// What is asked about scripts and fleets.
type (
	// NewScript makes a script of a bundle; Request.Zip counts for its size only.
	NewScript struct {
		Request messages.CreateScript
		Bundle  *bundle.Bundle
	}
	// ChangeScript is answered when each process that is to run a new content
	// does, or cannot, or after Wait (0: 10 s). A bundle of nil leaves the content.
	ChangeScript struct {
		Request messages.UpdateScript
		Bundle  *bundle.Bundle
		Wait    time.Duration
	}
	// Changed is the answer: a content of which nothing was Refused and which is not
	// Loading any more is what new game sessions run.
	Changed struct {
		Script  *messages.Script
		Refused []string // why processes go on with what they ran
		Loading bool     // some process has not shown yet whether it runs
	}
	// DropScript is refused while a fleet uses it (D-208).
	DropScript struct{ ID messages.ScriptID }
	// Scripts asks for one script, or with an empty id for all, oldest first.
	Scripts struct{ ID messages.ScriptID }
	// DropFleet ends the fleet's game sessions.
	DropFleet struct{ ID messages.FleetID }
	// Events asks what happened to a fleet, oldest first.
	Events struct{ ID messages.FleetID }
	// ScriptsLoaded is answered when no process loads a script any more.
	ScriptsLoaded struct{}
	// None is no answer.
	None = struct{}
)

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
func (m Drain) Undelivered() { m.Done(nil) }

// Timers and results of its own.
type (
	graceOver     struct{}
	endOne        struct{ id messages.GameSessionID }
	activationDue struct {
		e   *entry
		ref *stage.Ref
	}
)
