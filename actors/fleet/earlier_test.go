package fleet_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// change replaces the content of the script.
func (h *resources) change(files ...string) {
	h.Helper()
	wanted[messages.UpdatedScript](h.host, changeOf(h.script.ID, files...))
}

// runs fails unless a new game session of the fleet runs the given version.
func (h *resources) runs(version, text string) {
	h.Helper()
	g := h.must(create(h.fleet.ID, ""))
	if got := h.engine.last().program.text; g.ScriptVersion != version || got != text {
		h.Errorf("it runs %q of version %q, want %q of %q", got, g.ScriptVersion, text, version)
	}
	request[*messages.GameSession](h.host, messages.TerminateGameSession{GameSessionID: g.ID, Force: true})
	synctest.Wait()
}

// contents fails unless the store holds the given number of contents.
func (h *resources) contents(want int) {
	h.Helper()
	assert.Equal(h, "contents are stored", len(h.disk.Records(store.Content)), want)
}

// realtime.md 19.1: a version that does not run affects nothing else, not even at the next start of the host.
func TestAFleetIsRestartedWithTheLastVersionThatRan(t *testing.T) {
	for _, broken := range []string{"main.js=syntax error", "main.js=throws", "main.js=not ready", "other.js="} {
		t.Run(broken, func(t *testing.T) {
			withResources(t, func(h *resources) {
				h.change("main.js=two")
				h.contents(1)
				h.change(broken)
				h.contents(2)
				for range 2 {
					h.restart()
					if f := h.fleets()[h.fleet.ID]; f.Status != messages.FleetActive {
						t.Errorf("the fleet is %v", f.Status)
					}
					h.runs("2 (2.0)", "two")
				}
				h.change(broken)
				h.runs("2 (2.0)", "two")
				h.restart()
				h.runs("2 (2.0)", "two")
				h.contents(2)
				h.change("main.js=five")
				h.runs("5 (2.0)", "five")
				h.contents(1)
				h.restart()
				h.runs("5 (2.0)", "five")
				h.change("main.js=six")
				h.contents(1)
				h.restart()
				h.runs("6 (2.0)", "six")
			})
		})
	}
}

// A version that was stored but has not yet run is tried at the next start.
func TestAVersionThatWasStoredLastIsTriedAtTheNextStart(t *testing.T) {
	withResources(t, func(h *resources) {
		h.disk.Hold()
		later[messages.UpdatedScript](h.host, changeOf(h.script.ID, "main.js=two"))
		h.disk.Next()
		h.contents(2)
		h.restart()
		h.runs("2 (2.0)", "two")
		h.contents(1)
	})
}

// The content of a configured script is taken from the configuration at each start.
func TestAContentOfAConfiguredScriptIsNotStored(t *testing.T) {
	withResources(t, func(h *resources) {
		wanted[messages.UpdatedScript](h.host, changeOf("script-own", "main.js=two"))
		h.contents(1)
	})
}

// A version that never ran is deleted when a newer one is stored.
func TestAVersionThatNeverRanIsNotKept(t *testing.T) {
	withResources(t, func(h *resources) {
		s := wanted[*messages.Script](h.host, newScriptOf("main.js=syntax error"))
		wanted[messages.UpdatedScript](h.host, changeOf(s.ID, "main.js=throws"))
		h.contents(2)
		h.restart()
		h.contents(2)
		wanted[stage.None](h.host, messages.DeleteScript{ID: s.ID})
		h.contents(1)
		h.change("main.js=throws")
		h.contents(2)
		wanted[stage.None](h.host, messages.DeleteFleet{ID: h.fleet.ID})
		wanted[stage.None](h.host, messages.DeleteScript{ID: h.script.ID})
		h.contents(0)
	})
}

// An update that is not stored has no effect.
func TestAnUpdateThatIsNotStoredLeavesTheLastVersionThatRan(t *testing.T) {
	withResources(t, func(h *resources) {
		h.change("main.js=throws")
		h.disk.Break(true)
		_, err := request[messages.UpdatedScript](h.host, changeOf(h.script.ID, "main.js=three"))
		h.is(err, messages.Internal)
		h.disk.Break(false)
		h.restart()
		h.runs("1 (1.0)", "one")
		h.change("main.js=three")
		h.runs("3 (2.0)", "three")
	})
}

// If the last version that ran fails, the newest version is tried.
func TestIfTheLastVersionThatRanFailsTheNewestIsTried(t *testing.T) {
	for _, failure := range []string{"syntax error", "throws", "no handler"} {
		for newest, want := range map[string]messages.FleetStatus{"throws": messages.FleetErrored, "syntax error": messages.FleetErrored, "cured": messages.FleetActive} {
			withResources(t, func(h *resources) {
				h.engine.now = map[string]string{"cured": "syntax error"}
				h.change("main.js=" + newest)
				h.contents(2)
				h.engine.now = map[string]string{"one": failure}
				h.restart()
				if f := h.fleets()[h.fleet.ID]; f.Status != want {
					t.Errorf("%s, %s: the fleet is %v", failure, newest, f.Status)
				}
				if want == messages.FleetErrored {
					_, err := h.create(create(h.fleet.ID, ""))
					if h.is(err, messages.InvalidFleetStatus); !strings.Contains(err.Error(), "not ACTIVE: ") {
						t.Error(err)
					}
				}
				if want == messages.FleetActive {
					h.runs("2 (2.0)", "cured")
					h.contents(1)
				}
				h.change("main.js=three")
				h.runs("3 (2.0)", "three")
				h.contents(1)
			})
		}
	}
}
