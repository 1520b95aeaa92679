package fleet

import (
	"time"

	"troupe/actors/stage"
	"troupe/messages"
)

// Requests to the registry, each in a stage.Request. The methods of actors.System document the
// requests of package messages; package catalog has those about resources.
type (
	// Depth asks for the numbers of waiting messages.
	Depth struct{}
	// Drain refuses new game sessions and player sessions, and ends all game sessions:
	// those without players at once, the others when their last player has left or Grace
	// is over. It is answered then, or with ErrDrainCancelled after a CancelDrain. A
	// second Drain may shorten the grace, not extend it.
	Drain struct{ Grace time.Duration }
	// CancelDrain ends a Drain, and accepts new game sessions and player sessions again. The
	// error is ErrNotDraining, or ErrDrainTooLate if the grace is over.
	CancelDrain struct{}
	// ScriptsLoaded is answered once no process is loading a script.
	ScriptsLoaded struct{}
)

// Depths are numbers of waiting messages: for the registry, for all game sessions together, and
// for the game session with the most.
type Depths struct{ Registry, GameSessions, Busiest int }

// DeadLetterError is nil: a registry that has stopped has no game sessions left.
func (Drain) DeadLetterError() error { return nil }

func unavailable() error {
	return messages.Errorf(messages.Unavailable, "the host is shutting down")
}

// Timers of the actor.
type (
	graceOver     struct{}
	endOne        struct{ id messages.GameSessionID }
	activationDue struct {
		e   *entry
		ref *stage.Ref
	}
)
