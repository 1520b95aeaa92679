package fleet

import (
	"troupe/actors/stage"
	"troupe/messages"
)

func unavailable() error {
	return messages.Errorf(messages.Unavailable, "the host is shutting down")
}

// Messages that the actor sends to itself: timers and answers.
type (
	graceOver     struct{}
	endOne        struct{ id messages.GameSessionID }
	claimAnswered struct {
		e   *entry
		err error
	}
	activationDue struct {
		e   *entry
		ref *stage.Ref
	}
)
