package fleet_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// The store refuses one change and stores the next of the same resource. The API then shows
// the record from which the next process of the host starts, and that process does start.
func TestAChangeThatIsRefusedIsNotStoredWithTheNext(t *testing.T) {
	for _, same := range [][]string{
		{"UpdateScript", "rename a script", "tags of a script"},
		{"UpdateFleet", "UpdateRuntime", "UpdateCapacity", "UpdatePorts", "AddLocations", "RemoveLocations", "tags of a fleet", "DeleteFleet"},
		{"UpdateAlias", "tags of an alias", "DeleteAlias"},
		{"DeleteLocation", "tags of a location"},
	} {
		for _, first := range same {
			for _, second := range same {
				t.Run(first+", "+second, func(t *testing.T) {
					withResources(t, func(h *resources) {
						h.disk.hold()
						h.disk.set(errDisk)
						h.writes()[first]() // the answer is not awaited: the disk holds the change
						h.disk.set(nil)
						h.writes()[second]()
						h.disk.release()
						shown := h.state()
						h.restart()
						h.same("after a restart", h.state(), shown)
						if f := h.fleets()[h.fleet.ID]; second != "DeleteFleet" && f.Status != messages.FleetActive {
							t.Errorf("after a restart the fleet is %v", f.Status)
						}
					})
				})
			}
		}
	}
}

// newest is the version of the script that the API shows.
func (h *resources) newest() string {
	h.Helper()
	s := wanted[[]*messages.Script](h.host, catalog.Scripts{ID: h.script.ID})[0]
	return fmt.Sprintf("%d (%s)", s.Contents, s.Version)
}

// If the store refuses the deletion of a fleet while its last game session ends, the fleet
// still exists.
func TestAFleetWhoseDeletionIsRefusedGoesOn(t *testing.T) {
	withResources(t, func(h *resources) {
		g := h.must(create(h.fleet.ID, ""))
		h.disk.hold()
		h.disk.set(errDisk)
		send[stage.None](h, catalog.DropFleet{ID: h.fleet.ID})
		synctest.Wait()
		h.disk.set(nil)
		h.registry.Tell(stage.Request[messages.TerminateGameSession, *messages.GameSession]{Request: messages.TerminateGameSession{GameSessionID: g.ID, Force: true}, Reply: func(*messages.GameSession, error) {}})
		synctest.Wait()
		h.disk.release()
		if f := h.fleets()[h.fleet.ID]; f.Status != messages.FleetActive {
			t.Errorf("the fleet is %v", f.Status)
		}
		h.restart()
		h.runs("1 (1.0)", "one")
	})
}

// A version proves that it runs while the store refuses the next one.
func TestAVersionThatRunsWhileTheNextOneIsRefusedIsKept(t *testing.T) {
	withResources(t, func(h *resources) {
		h.change("main.js=syntax error") // the first is kept, as the last version that ran
		h.engine.now = map[string]string{"syntax error": "two"}
		h.engine.gate = make(chan struct{})
		wanted[*messages.Fleet](h.host, messages.UpdateRuntime{FleetID: h.fleet.ID, Runtime: processes("3 main.js again")})
		h.disk.hold()
		h.disk.set(errDisk)
		send[catalog.Changed](h, changeOf(h.script.ID, "main.js=three"))
		synctest.Wait()
		close(h.engine.gate)
		synctest.Wait()
		h.contents(2)
		h.disk.set(nil)
		h.disk.release()
		h.contents(1)
		h.restart()
		h.runs("2 (2.0)", "two")
	})
}

func TestQueuedChangesAreBounded(t *testing.T) {
	withResources(t, func(h *resources) {
		h.disk.hold()
		refused, changed := 0, 0
		for range 100 {
			h.registry.Tell(stage.Request[messages.UpdateFleet, *messages.Fleet]{
				Request: messages.UpdateFleet{FleetID: h.fleet.ID, Name: pointer("x")},
				Reply: func(_ *messages.Fleet, err error) {
					if err == nil {
						changed++
					} else {
						h.is(err, messages.Conflict)
						refused++
					}
				},
			})
		}
		synctest.Wait()
		if refused != 100-17 {
			t.Errorf("%d were refused at once", refused)
		}
		h.disk.release()
		if changed != 17 {
			t.Errorf("%d were made", changed)
		}
		h.disk.hold()
		stopped := 0
		for range 5 {
			h.registry.Tell(stage.Request[catalog.DropFleet, stage.None]{
				Request: catalog.DropFleet{ID: h.fleet.ID}, Reply: func(_ stage.None, err error) { h.is(err, messages.Unavailable); stopped++ },
			})
		}
		synctest.Wait()
		h.registry.Stop()
		time.Sleep(time.Second)
		h.disk.release()
		if stopped != 5 {
			t.Errorf("%d are answered when the registry has stopped", stopped)
		}
		h.begin()
	})
}

// No stored record keeps the host from starting, however damaged it is.
func TestADamagedRecordIsLeftOut(t *testing.T) {
	for _, kind := range []store.Kind{store.Fleet, store.Alias, store.Script, store.Location, store.GameSession, store.PlayerSession} {
		for _, value := range []string{"", "{}", "[]", `{"Fleet":5,"Tags":7,"fleet":5,"g":5}`, "PK\x03\x04"} {
			if value == "{}" && (kind == store.GameSession || kind == store.PlayerSession) {
				continue // without a fleet or game session it is deleted, not damaged
			}
			withResources(t, func(h *resources) {
				shown := h.state()
				h.disk.Memory.Commit([]store.Change{{Kind: kind, ID: "broken-1", Value: []byte(value)}}, nil)
				r, err := fleet.New(h.options)
				if err != nil {
					t.Fatal(err)
				}
				if d := r.Damaged(); len(d) != 1 || d[0].Kind != kind || d[0].ID != "broken-1" {
					t.Errorf("%s %q: it names %v", kind, value, d)
				}
				h.restart()
				h.same(string(kind)+" "+value, h.state(), shown)
				h.runs("1 (1.0)", "one")
			})
		}
	}
}

func TestPlayerSessionsOfADamagedGameSessionAreKept(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		if _, err := h.seats(g.ID, "a"); err != nil {
			t.Fatal(err)
		}
		h.disk.Memory.Commit([]store.Change{{Kind: store.GameSession, ID: string(g.ID), Value: []byte("{")}}, nil)
		h.restart()
		if n := h.disk.records(store.PlayerSession); n != 1 {
			t.Errorf("%d are left", n)
		}
	})
}

// The store has lost the newest content of a script. Its fleet runs the last good version,
// or is in ERROR with the reason, until the script is updated.
func TestAScriptWithoutItsContentRunsTheLastGoodOne(t *testing.T) {
	named := func(h *resources, key string) { // the record names a missing content
		value := h.record(store.Script, string(h.script.ID))
		s := value["Script"].(map[string]any)
		s["Contents"], value["Key"] = 2, key
		h.disk.Memory.Commit([]store.Change{store.Put(store.Script, string(h.script.ID), value)}, nil)
	}
	broken := func(key string) store.Change { return store.Change{Kind: store.Content, ID: key, Value: []byte("PK")} }
	for name, test := range map[string]struct {
		damage func(h *resources)
		good   string
	}{
		"a name of nothing": {func(h *resources) { named(h, string(h.script.ID)+"/2") }, "1"},
		"the earlier one is there": {func(h *resources) {
			h.change("main.js=syntax error")
			h.disk.Memory.Commit([]store.Change{store.Delete(store.Content, string(h.script.ID)+"/2")}, nil)
		}, "1 (1.0)"},
		"the newest is no archive": {func(h *resources) {
			h.change("main.js=syntax error")
			h.disk.Memory.Commit([]store.Change{broken(string(h.script.ID) + "/2")}, nil)
		}, "1 (1.0)"},
		"none is there": {func(h *resources) {
			h.disk.Memory.Commit([]store.Change{store.Delete(store.Content, string(h.script.ID))}, nil)
		}, ""},
		"the only one is no archive": {func(h *resources) { h.disk.Memory.Commit([]store.Change{broken(string(h.script.ID))}, nil) }, ""},
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
				wanted[*messages.Alias](h.host, messages.CreateAlias{Name: "b", Message: "closed"}) // the host works
				h.change("main.js=healed")
				h.runs(h.newest(), "healed")
				h.restart()
				h.runs(h.newest(), "healed")
				h.contents(1)
			})
		})
	}
}

// says fails unless a fleet has an event with a code and a text.
func (h *resources) says(id messages.FleetID, code, text string) {
	h.Helper()
	all := wanted[[]messages.FleetEvent](h.host, catalog.Events{ID: id})
	if !slices.ContainsFunc(all, func(e messages.FleetEvent) bool { return e.Code == code && strings.Contains(e.Message, text) }) {
		h.Errorf("no event %s has %q: %+v", code, text, all)
	}
}

// record returns a stored record.
func (h *resources) record(kind store.Kind, id string) (found map[string]any) {
	h.Helper()
	_, err := h.disk.Load(kind, func(other string, value []byte) error {
		if other != id {
			return nil
		}
		return json.Unmarshal(value, &found)
	})
	if err != nil || found == nil {
		h.Fatalf("%s %s: %v, %v", kind, id, found, err)
	}
	return found
}

// Updates of a game session that wait for a slow disk do not keep it from being terminated.
func TestTerminateBehindUpdates(t *testing.T) {
	hosted(t, nil, func(h *host) {
		g := h.must(create(actorstest.Fleet, ""))
		h.disk.hold()
		name := "x"
		for range 20 {
			h.registry.Tell(stage.Request[messages.UpdateGameSession, *messages.GameSession]{
				Request: messages.UpdateGameSession{ID: g.ID, Name: &name}, Reply: func(_ *messages.GameSession, err error) {
					if err != nil {
						h.Errorf("update: %v", err)
					}
				},
			})
		}
		var answer error
		h.registry.Tell(stage.Request[messages.TerminateGameSession, *messages.GameSession]{
			Request: messages.TerminateGameSession{GameSessionID: g.ID, Force: true}, Reply: func(_ *messages.GameSession, err error) { answer = err },
		})
		synctest.Wait()
		h.disk.release()
		synctest.Wait()
		if answer != nil {
			h.Errorf("terminate: %v", answer)
		}
	})
}
