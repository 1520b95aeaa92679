package stage

import (
	"io"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"troupe/messages/counters"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("troupe/actors/stage_test.park")) // goroutines that abandon_test blocks forever
}

// bare returns a Shard without a worker, and so without a goroutine.
func bare() *Shard {
	s := &Shard{stage: &Stage{log: zerolog.New(io.Discard), count: new(counters.Set)}}
	s.wake.L = &s.mu
	return s
}
