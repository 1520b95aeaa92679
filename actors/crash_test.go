package actors

import (
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/stage"
	"troupe/messages/counters"
)

// RL-110: the host must not continue with an empty registry, so a crash of the registry ends the process
// (reliability.md 4).
func TestACrashOfTheRegistryEndsTheProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var failed []string
		s, err := Start(Options{Log: zerolog.Nop(), Counters: new(counters.Set), Fleet: fleet.Options{Region: "local"},
			OnFailure: func(reason string) { failed = append(failed, reason) }})
		assert.NoError(t, err)
		defer s.Close()
		s.fleet.Tell(stage.Panic{Text: "the test wants it"})
		synctest.Wait()
		if len(failed) != 1 {
			t.Errorf("the host is told of %d failures: %q", len(failed), failed)
		}
	})
}
