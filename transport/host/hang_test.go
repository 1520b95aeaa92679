package host_test

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

// hanging is a game whose start returns only when the test is over.
type hanging struct {
	script.Base
	until chan struct{}
}

func (h hanging) OnStartGameSession(*messages.GameSession) script.Decision {
	<-h.until
	return script.Allow
}

// A host ends even if a call into a game's logic never returns, and its store is closed then.
func TestAHostEndsBesideACallThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		until := make(chan struct{})
		defer close(until)
		c := hosttest.Config(t)
		c.Drain.Grace = time.Minute
		h := hosttest.Start(t, host.Options{Config: c, NewHandler: func(*messages.Fleet) script.Handler { return hanging{until: until} }})
		if _, err := messages.Do(t.Context(), h.Host.System(), messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 1}); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		if err := h.Host.Drain(t.Context()); err != nil {
			t.Error(err)
		}
		// the grace, then ten seconds for game sessions to end, then ten for actors
		if took := time.Since(begun); took != 80*time.Second {
			t.Errorf("the host ended after %v", took)
		}
	})
}
