package hosting

import (
	"errors"
	"strings"
	"testing"
	"time"

	"troupe/messages"
)

// Two calls that cannot be ended are told only if they come within an hour.
// RL-210.
func TestTwoStuckCallsAreToldWithinAnHour(t *testing.T) {
	var last lastStuck
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, step := range []struct {
		after time.Duration
		again bool
	}{{0, false}, {time.Hour, false}, {59 * time.Minute, true}, {time.Second, true}, {61 * time.Minute, false}} {
		now = now.Add(step.after)
		if apart, again := last.at(now); again != step.again || again && apart != step.after {
			t.Errorf("%d: %v apart, again %v", i, apart, again)
		}
	}
}

// A content that is stuck twice is refused, a newer one of the same script is not.
func TestAContentThatIsStuckTwiceIsRefused(t *testing.T) {
	h := New(Options{})
	f := &fleet{record: &messages.Fleet{ID: "fleet-a", ScriptID: "script-1", Locations: []string{"home"}}}
	one := content{"script-1", 1}
	p := &ProcessConfig{fleet: f, spec: messages.ServerProcess{Concurrent: 1}, current: &program{content: one, version: "1 (one)"}}
	f.configs = []*ProcessConfig{p}
	h.fleets["fleet-a"] = f
	h.stuck[one] = stuckMax - 1
	if err := h.Refused("fleet-a"); err != nil {
		t.Errorf("after one: %v", err)
	}
	h.stuck[one]++
	err := h.Refused("fleet-a")
	if !errors.Is(err, &messages.Error{Code: messages.InvalidFleetStatus}) || !strings.Contains(err.Error(), "version 1 (one) of the script takes no new game sessions") {
		t.Errorf("after two: %v", err)
	}
	if h.HasFree("fleet-a", "home") {
		t.Error("it has a free process")
	}
	p.current = &program{content: content{"script-1", 2}, version: "2"}
	if err := h.Refused("fleet-a"); err != nil {
		t.Errorf("the next content: %v", err)
	}
}

// A fleet that also runs a version which is not refused is full while that one is.
func TestAFleetIsNotRefusedForOneOfItsVersions(t *testing.T) {
	h := New(Options{})
	f := &fleet{record: &messages.Fleet{ID: "fleet-a", ScriptID: "script-1", Locations: []string{"home"}}}
	one, two := content{"script-1", 1}, content{"script-1", 2}
	f.configs = []*ProcessConfig{
		{fleet: f, current: &program{content: two, version: "2"}},
		{fleet: f, current: &program{content: one, version: "1"}}, // the newest does not run there
	}
	h.fleets["fleet-a"] = f
	h.stuck[two] = stuckMax
	if err := h.Refused("fleet-a"); err != nil {
		t.Error(err)
	}
	h.stuck[one] = stuckMax
	if err := h.Refused("fleet-a"); err == nil {
		t.Error("both are refused, the fleet is not")
	}
}
