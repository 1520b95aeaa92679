package fleet

import (
	"time"

	"troupe/actors/stage"
	"troupe/messages"
)

// Requests to the registry, each in a stage.Request. Those that are in messages are
// answered as the method of actors.System with that name returns; catalog has those about resources.
type (
	// Depth adds up the messages that wait in the mailboxes of game sessions.
	Depth struct{}
	// Drain refuses new game sessions and player sessions, and ends all game sessions:
	// those without players at once, the others when their last player has left or Grace
	// is over. It is answered then, or with ErrDrainCancelled after a CancelDrain. A
	// second Drain may shorten the grace, not extend it.
	Drain struct{ Grace time.Duration }
	// CancelDrain takes new game sessions and player sessions again. It is an error if there is no
	// drain, or if its grace is over.
	CancelDrain struct{}
	// ScriptsLoaded is answered when no process loads a script any more.
	ScriptsLoaded struct{}
)

// Depths says how many messages wait: for the registry, for all game sessions
// together, and for the busiest one.
type Depths struct{ Registry, GameSessions, Busiest int }

// DeadLetterError is nil: a registry that has stopped has no game sessions left.
func (Drain) DeadLetterError() error { return nil }

func unavailable() error {
	return messages.Errorf(messages.Unavailable, "the host is shutting down")
}

// Timers of its own.
type (
	graceOver     struct{}
	endOne        struct{ id messages.GameSessionID }
	activationDue struct {
		e   *entry
		ref *stage.Ref
	}
)
