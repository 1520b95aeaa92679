package fleet_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// newest returns the version of the script that the API shows.
func (h *resources) newest() string {
	h.Helper()
	s := wanted[[]*messages.Script](h.host, messages.ScriptQuery{ID: h.script.ID})[0]
	return fmt.Sprintf("%d (%s)", s.Contents, s.Version)
}

// If the store refuses the deletion of a fleet while the fleet's last game session ends, the fleet still exists.
func TestAFleetWhoseDeletionIsRefusedGoesOn(t *testing.T) {
	withResources(t, func(h *resources) {
		g := h.must(create(h.fleet.ID, ""))
		h.disk.Hold()
		h.disk.Break(true)
		later[stage.None](h.host, messages.DeleteFleet{ID: h.fleet.ID})
		h.disk.Break(false)
		later[*messages.GameSession](h.host, messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
		h.disk.Release()
		if f := h.fleets()[h.fleet.ID]; f.Status != messages.FleetActive {
			t.Errorf("the fleet is %v", f.Status)
		}
		h.restart()
		h.runs("1 (1.0)", "one")
	})
}

// A version turns out to run while the store refuses the next version.
func TestAVersionThatRunsWhileTheNextOneIsRefusedIsKept(t *testing.T) {
	withResources(t, func(h *resources) {
		h.change("main.js=syntax error") // the first version is kept, because it is the last one that ran
		h.engine.now = map[string]string{"syntax error": "two"}
		h.engine.gate = make(chan struct{})
		wanted[*messages.Fleet](h.host, messages.UpdateRuntime{FleetID: h.fleet.ID, Runtime: processes("3 main.js again")})
		h.disk.Hold()
		h.disk.Break(true)
		later[messages.UpdatedScript](h.host, changeOf(h.script.ID, "main.js=three"))
		close(h.engine.gate)
		synctest.Wait()
		h.contents(2)
		h.disk.Break(false)
		h.disk.Release()
		h.contents(1)
		h.restart()
		h.runs("2 (2.0)", "two")
	})
}

// The store has lost the newest content of a script. The fleet runs the last good version until the script is updated.
// If there is none, the fleet is in ERROR with the reason.
func TestAScriptWithoutItsContentRunsTheLastGoodOne(t *testing.T) {
	named := func(h *resources, key string) { // makes the record refer to a missing content
		var value map[string]any
		assert.NoError(h, json.Unmarshal(h.disk.Records(store.Script)[string(h.script.ID)], &value))
		s := value["Script"].(map[string]any)
		s["Contents"], value["Key"] = 2, key
		h.disk.Memory.Commit([]store.Change{store.Put(store.Script, string(h.script.ID), value)}, nil)
	}
	gone := func(h *resources, key string) {
		h.disk.Memory.Commit([]store.Change{store.Delete(store.Content, key)}, nil)
	}
	for name, test := range map[string]struct {
		damage func(h *resources)
		good   string
	}{
		"a name of nothing": {func(h *resources) { named(h, string(h.script.ID)+"/2") }, "1"},
		"the earlier one is there": {func(h *resources) {
			h.change("main.js=syntax error")
			gone(h, string(h.script.ID)+"/2")
		}, "1 (1.0)"},
		"the newest is no archive": {func(h *resources) {
			h.change("main.js=syntax error")
			h.disk.Put(store.Content, string(h.script.ID)+"/2", "PK")
		}, "1 (1.0)"},
		"none is there":              {func(h *resources) { gone(h, string(h.script.ID)) }, ""},
		"the only one is no archive": {func(h *resources) { h.disk.Put(store.Content, string(h.script.ID), "PK") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			withResources(t, func(h *resources) {
				test.damage(h)
				for range 2 {
					h.restart()
					if test.good != "" {
						h.runs(test.good, "one")
					} else if f := h.fleets()[h.fleet.ID]; f.Status != messages.FleetErrored {
						t.Errorf("the fleet is %v", f.Status)
					}
					h.says(h.fleet.ID, "FLEET_VALIDATION_EXECUTABLE_RUNTIME_FAILURE", "update the script")
				}
				wanted[*messages.Alias](h.host, messages.CreateAlias{Name: "b", Message: "closed"}) // the host works normally
				h.change("main.js=healed")
				h.runs(h.newest(), "healed")
				h.restart()
				h.runs(h.newest(), "healed")
				h.contents(1)
			})
		})
	}
}

// says fails unless a fleet has an event with the given code and text.
func (h *resources) says(id messages.FleetID, code, text string) {
	h.Helper()
	all := wanted[[]messages.FleetEvent](h.host, messages.FleetEventQuery{ID: id})
	if !slices.ContainsFunc(all, func(e messages.FleetEvent) bool { return e.Code == code && strings.Contains(e.Message, text) }) {
		h.Errorf("no event %s has %q: %+v", code, text, all)
	}
}

// Updates of a game session that wait for a slow disk do not prevent its termination.
func TestTerminateBehindUpdates(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		h.disk.Hold()
		var answers []*[]error
		for range 20 {
			answers = append(answers, later[*messages.GameSession](h, messages.UpdateGameSession{ID: g.ID, Name: new("x")}))
		}
		answers = append(answers, later[*messages.GameSession](h, messages.TerminateGameSession{GameSessionID: g.ID, Force: true}))
		h.disk.Release()
		for n, a := range answers {
			if len(*a) != 1 || (*a)[0] != nil {
				h.Errorf("number %d is answered %v", n, *a)
			}
		}
	})
}
