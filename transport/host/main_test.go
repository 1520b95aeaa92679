package host

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The actor library runs a timer of a second after a message to a stopped
	// actor; it ends by itself, but not before goleak has lost its patience.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/asynkron/protoactor-go/actor.NewDeadLetter.NewThrottle.func4.1"))
}
