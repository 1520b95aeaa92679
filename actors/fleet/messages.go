package fleet

import (
	"time"

	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/messages"
)

// Requests to the registry, each in a stage.Request. Those that are in messages are
// answered as the method of actors.System with that name returns.
type (
	// Fleets reads all fleets.
	Fleets struct{}
	// Depth adds up the messages that wait in the mailboxes of game sessions.
	Depth struct{}
	// Drain refuses new game sessions and player sessions, and ends all game sessions:
	// those without players at once, the others when their last player has left or Grace
	// is over. It is answered then, or with ErrDrainCancelled after a CancelDrain. A
	// second Drain may shorten the grace, not extend it.
	Drain struct{ Grace time.Duration }
	// CancelDrain takes new game sessions and seats again. It is an error if there is no
	// drain, or if its grace is over.
	CancelDrain struct{}
)

// Depths says how many messages wait: for the registry, for all game sessions
// together, and for the busiest one.
type Depths struct{ Registry, GameSessions, Busiest int }

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
)

func unavailable() error {
	return messages.Errorf(messages.Unavailable, "the host is shutting down")
}

// DeadLetterError is nil: a registry that has stopped has no game sessions left.
func (Drain) DeadLetterError() error { return nil }

// Timers and results of its own.
type (
	graceOver     struct{}
	endOne        struct{ id messages.GameSessionID }
	activationDue struct {
		e   *entry
		ref *stage.Ref
	}
)
