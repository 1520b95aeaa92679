package host_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/fleet"
	"troupe/actors/script"
	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
)

// A host that fails drains first, and calls OnFailure at its end. Nobody can cancel that drain.
func TestAHostThatFailsDrainsFirst(t *testing.T) {
	const why = "it grows"
	for name, c := range map[string]struct {
		graces []time.Duration // grace of each call of Fail; the calls are one second apart
		want   time.Duration   // includes ten seconds for the game session to end, and ten for its actor
	}{
		"as configured": {[]time.Duration{-1}, 80 * time.Second}, "longer": {[]time.Duration{time.Hour}, 80 * time.Second},
		"less": {[]time.Duration{30 * time.Second}, 50 * time.Second}, "at once": {[]time.Duration{0}, 20 * time.Second},
		"no time left meanwhile": {[]time.Duration{-1, 0}, 21 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				until := make(chan struct{})
				defer close(until)
				failed := make(chan string, 2)
				config := hosttest.Config(t)
				config.Drain.Grace = time.Minute
				h := hosttest.Start(t, host.Options{
					Config: config, NewHandler: func(*messages.Fleet) script.Handler { return hanging{until: until} }, OnFailure: func(reason string) { failed <- reason },
				})
				if _, err := messages.Do(t.Context(), h.Host.System(), messages.CreateGameSession{FleetID: "fleet-dev", MaxPlayers: 1}); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				for i, grace := range c.graces {
					if i > 0 {
						time.Sleep(time.Second)
					}
					h.Host.Fail(why, grace)
				}
				if err := h.Host.CancelDrain(t.Context()); !errors.Is(err, fleet.ErrDrainTooLate) {
					t.Error(err)
				}
				<-h.Host.Drained()
				took := time.Since(begun)
				select {
				case reason := <-failed:
					if reason != why {
						t.Error(reason)
					}
				default:
					t.Error("it drained, and has not failed")
				}
				h.Host.Close()
				if took != c.want || time.Since(begun) != took {
					t.Errorf("the host ended after %v, want %v", took, c.want)
				}
			})
		})
	}
}
