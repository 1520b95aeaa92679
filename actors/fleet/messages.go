package fleet

import (
	"troupe/actors/stage"
	"troupe/messages"
)

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
