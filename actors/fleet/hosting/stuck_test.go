package hosting

import (
	"errors"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet/catalog"
	"troupe/actors/gamesession"
	"troupe/actors/script"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
)

// Two calls that cannot be interrupted are reported only if they occur within an hour. RL-210.
func TestTwoStuckCallsWithinAnHourAreReported(t *testing.T) {
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

// A version with two stuck calls is refused. A newer version of the same script is not.
func TestAVersionThatIsStuckTwiceIsRefused(t *testing.T) {
	h, _ := New(Options{Store: new(store.Memory)})
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

// A fleet also runs another version, which is not refused. When all processes of that version are in use, the fleet is
// full, but it is not refused as a whole.
func TestAFleetIsNotRefusedForOneOfItsVersions(t *testing.T) {
	h, _ := New(Options{Store: new(store.Memory)})
	f := &fleet{record: &messages.Fleet{ID: "fleet-a", ScriptID: "script-1", Locations: []string{"home"}}}
	one, two := content{"script-1", 1}, content{"script-1", 2}
	f.configs = []*ProcessConfig{
		{fleet: f, current: &program{content: two, version: "2"}},
		{fleet: f, current: &program{content: one, version: "1"}}, // the newest version does not run in this configuration
	}
	h.fleets["fleet-a"] = f
	h.stuck[two] = stuckMax
	assert.NoError(t, h.Refused("fleet-a"))
	h.stuck[one] = stuckMax
	if err := h.Refused("fleet-a"); err == nil {
		t.Error("both are refused, the fleet is not")
	}
}

// A refused version never replaces a version that is not refused. This holds both when it is loaded and when it is
// refused during its trial start.
func TestARefusedVersionReplacesNone(t *testing.T) {
	for _, refused := range []bool{true, false} {
		s := stagetest.Start(t, nil)
		done := make(chan struct{})
		s.Spawn(new(stagetest.Probe)).Tell(stagetest.Do(func(c *stage.Context) {
			defer close(done)
			said := new(events)
			h, _ := New(Options{Settings: func(*messages.Fleet) gamesession.Settings { return gamesession.Settings{} }, Catalog: said, Store: new(store.Memory)})
			h.Started(c)
			f := &fleet{record: &messages.Fleet{ID: "fleet-a", ScriptID: "script-1", Locations: []string{"home"}}}
			one := &program{Program: starts{}, content: content{"script-1", 1}, version: "1", wanted: 1}
			two := &program{Program: starts{}, content: content{"script-1", 2}, version: "2", wanted: 1}
			p := &ProcessConfig{fleet: f, current: one, next: two, live: make(map[string]int)}
			f.configs = []*ProcessConfig{p}
			h.fleets["fleet-a"] = f
			h.stuck[two.content] = stuckMax - 1
			if refused {
				h.stuck[two.content]++
				h.fill(p)
			} else {
				h.fill(p)
				h.countStuck(two) // in a game session of another fleet
			}
			if p.next != nil || p.current != one || len(p.standbys) != 0 {
				t.Errorf("refused before: %v: next is %v, current %v, %d stand by", refused, p.next, p.current, len(p.standbys))
			}
			if len(said.all) != 1 || !strings.Contains(said.all[0], "game sessions go on with version 1") {
				t.Errorf("refused before: %v: %q", refused, said.all)
			}
		}))
		<-done
		s.Close()
	}
}

// events is a Catalog without contents. It records events.
type events struct{ all []string }

func (*events) Contents(messages.ScriptID) (newest, earlier *catalog.Content) { return nil, nil }
func (e *events) FleetEvent(_ messages.FleetID, _, message string)            { e.all = append(e.all, message) }
func (*events) FleetRuns(messages.FleetID)                                    {}
func (*events) FleetFails(messages.FleetID)                                   {}
func (*events) ContentRuns(messages.ScriptID, bool)                           {}

// starts is a program whose processes start successfully.
type starts struct{}

func (starts) Version() string                                   { return "" }
func (starts) NewHandler(script.Process) (script.Handler, error) { return script.Relay{}, nil }
func (starts) Close()                                            {}
