package catalog

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/script/bundle"
	"troupe/messages"
)

// The catalog calls its Listener after a change.
func TestTheListenerReceivesConsequencesOfChanges(t *testing.T) {
	run(t, func(w *world) {
		is := func(step string, want ...string) {
			t.Helper()
			if synctest.Wait(); !slices.Equal(w.owner.told, want) {
				t.Errorf("%s: told %q, want %q", step, w.owner.told, want)
			}
			w.owner.told = nil
		}
		f := do[*messages.Fleet](w, messages.CreateFleet{Name: "fleet", ScriptID: w.script.ID, Locations: []string{home, away}, Runtime: processes(2)})
		is("CreateFleet", "configured 1", "opened")
		do[*messages.Fleet](w, messages.UpdateCapacity{FleetID: f.ID, Location: away, Desired: new(0)})
		is("UpdateFleetCapacity", `capacity "away"`)
		assert.Equal(t, "the capacity is", Capacity(w.owner.c.Fleet(f.ID), away), 0)
		do[*messages.Fleet](w, messages.RemoveFleetLocations{FleetID: f.ID, Locations: []string{away}})
		is("DeleteFleetLocations", "left [away]")
		changed := do[messages.UpdatedScript](w, ChangeScript{Request: messages.UpdateScript{ID: w.script.ID}, Bundle: new(bundle.Bundle)})
		is("UpdateScript with a content", "content within 10s")
		if len(changed.Refused) != 1 || changed.Script.Contents != 2 {
			t.Errorf("answered %+v", changed)
		}
		do[messages.UpdatedScript](w, ChangeScript{Request: messages.UpdateScript{ID: w.script.ID, Version: "2.0"}})
		is("UpdateScript with a name", "renamed")
		do[any](w, messages.DeleteFleet{ID: f.ID})
		is("DeleteFleet", "closed DELETING")
		if got := w.shown(f.ID); got.Status != messages.FleetTerminated || got.Terminated.IsZero() {
			t.Errorf("an empty fleet is %v", got.Status)
		}
		time.Sleep(terminatedKeep + time.Second)
		if got := w.shown(f.ID); got.ID != "" {
			t.Errorf("it is shown a day later: %+v", got)
		}
		is("a day later", "forgotten")
	})
}

// A write is answered and shown once it is durable, and it survives a restart. A write that the store refuses, or that
// had not been written when the process ended, changes nothing.
func TestEachWriteIsShownAndAnsweredOnceItIsDurable(t *testing.T) {
	for _, name := range writeNames(t) {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				before := w.state()
				w.disk.Hold()
				w.disk.Break(true)
				answers := w.later(w.writes()[name])
				w.same("on its way to the store", before)
				if len(*answers) != 0 {
					t.Fatalf("answered before it was durable: %v", *answers)
				}
				w.disk.Break(false)
				w.disk.Release()
				w.is((*answers)[0], messages.Internal)
				w.same("refused", before)
				w.disk.Hold()
				w.later(w.writes()[name])
				w.restart()
				w.same("not written", before)
				do[any](w, w.writes()[name])
				after := w.state()
				if slices.Equal(before, after) {
					t.Error("nothing has changed")
				}
				for range 2 {
					w.restart()
					w.same("after a restart", after)
				}
			})
		})
	}
}

// The store refuses one change and then stores the next change of the same resource. Afterwards the API must show the
// record from which the next process of the host starts, and that process must start.
func TestAChangeThatIsRefusedIsNotStoredWithTheNext(t *testing.T) {
	for _, same := range [][]string{
		{"UpdateScript", "rename a script", "tags of script"},
		{"UpdateFleet", "UpdateRuntime", "UpdateCapacity", "UpdatePorts", "AddLocations", "RemoveLocations", "tags of fleet", "DeleteFleet"},
		{"UpdateAlias", "tags of alias", "DeleteAlias"},
		{"DeleteLocation", "tags of location"},
	} {
		for i, first := range same {
			for j, second := range same {
				if testing.Short() && len(same) > 3 && j != (i+1)%len(same) {
					continue // for a fleet: use each change once as the first and once as the second one
				}
				t.Run(first+", "+second, func(t *testing.T) {
					run(t, func(w *world) {
						w.disk.Hold()
						w.disk.Break(true)
						refused := w.later(w.writes()[first])
						w.disk.Break(false)
						w.later(w.writes()[second])
						w.disk.Release()
						shown := w.state()
						w.restart()
						w.same("after a restart", shown)
						w.is((*refused)[0], messages.Internal)
						if f := w.shown(w.fleet.ID); second != "DeleteFleet" && f.Status != messages.FleetActive {
							t.Errorf("after a restart the fleet is %v", f.Status)
						}
					})
				})
			}
		}
	}
}

// A change that is queued behind a refused one starts from the record before both changes. If both are refused, nothing
// has changed.
func TestChangesThatAreQueuedBehindARefusedOne(t *testing.T) {
	tag := func(kind, id, key string) messages.UpdateTags {
		return messages.UpdateTags{Resource: messages.Resource{Kind: kind, ID: id}, Set: map[string]string{key: ""}}
	}
	for name, queued := range map[string]func(w *world) (first, second any){
		"an alias": func(w *world) (_, _ any) {
			return messages.UpdateAlias{ID: w.alias.ID, Name: new("1")}, messages.UpdateAlias{ID: w.alias.ID, Description: new("2")}
		},
		"an alias that is deleted": func(w *world) (_, _ any) {
			return messages.UpdateAlias{ID: w.alias.ID, Name: new("1")}, messages.DeleteAlias{ID: w.alias.ID}
		},
		"its tags": func(w *world) (_, _ any) {
			return tag("alias", string(w.alias.ID), "a"), tag("alias", string(w.alias.ID), "b")
		},
		"a fleet": func(w *world) (_, _ any) {
			return messages.UpdateFleet{FleetID: w.fleet.ID, Name: new("1")}, messages.UpdateFleet{FleetID: w.fleet.ID, Description: new("2")}
		},
		"its tags after it": func(w *world) (_, _ any) {
			return messages.UpdateFleet{FleetID: w.fleet.ID, Name: new("1")}, tag("fleet", string(w.fleet.ID), "a")
		},
		"its capacity before it": func(w *world) (_, _ any) {
			return messages.UpdateCapacity{FleetID: w.fleet.ID, Location: away, Desired: new(2), Max: new(3)}, messages.UpdateFleet{FleetID: w.fleet.ID, Description: new("2")}
		},
		"a script": func(w *world) (_, _ any) {
			return ChangeScript{Request: messages.UpdateScript{ID: w.script.ID, Name: "1"}}, ChangeScript{Request: messages.UpdateScript{ID: w.script.ID, Version: "2"}}
		},
		"a location that is made again": func(*world) (_, _ any) {
			return messages.DeleteLocation{Name: attic}, messages.CreateLocation{Location: messages.Location{Name: attic}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(w *world) {
				before := w.state()
				first, second := queued(w)
				for _, both := range []bool{true, false} {
					w.disk.Hold()
					w.disk.Break(true)
					one := w.later(first)
					w.disk.Break(both)
					other := w.later(second)
					w.disk.Release()
					w.disk.Break(false)
					w.is((*one)[0], messages.Internal)
					if both {
						w.same("both refused", before)
					}
					if refused := (*other)[0] != nil; refused != both && name != "a location that is made again" {
						t.Errorf("both: %v: the second is answered %v", both, (*other)[0])
					}
				}
				shown := w.state()
				w.restart()
				w.same("after a restart", shown)
				if a := do[[]*messages.Alias](w, messages.AliasQuery{}); name == "an alias" && !slices.ContainsFunc(a, func(a *messages.Alias) bool { return a.Name == "a" && a.Description == "2" }) {
					t.Errorf("the second change alone leaves %+v", a)
				}
			})
		})
	}
}

func TestQueuedChangesAreBounded(t *testing.T) {
	run(t, func(w *world) {
		w.disk.Hold()
		var errs []error
		for range 100 {
			w.tell(messages.UpdateFleet{FleetID: w.fleet.ID, Name: new("x")}, func(_ any, err error) { errs = append(errs, err) })
		}
		if synctest.Wait(); len(errs) != 100-17 {
			t.Errorf("%d were refused at once", len(errs))
		}
		for _, err := range errs {
			w.is(err, messages.Conflict)
		}
		errs = nil
		if w.disk.Release(); len(errs) != 17 || slices.ContainsFunc(errs, func(err error) bool { return err != nil }) {
			t.Errorf("then answered %v", errs)
		}
		errs = nil
		w.disk.Hold()
		for range 5 {
			w.tell(messages.DeleteFleet{ID: w.fleet.ID}, func(_ any, err error) { errs = append(errs, err) })
		}
		synctest.Wait()
		w.ref.Stop()
		time.Sleep(time.Second)
		if w.disk.Release(); len(errs) != 5 {
			t.Errorf("%d are answered when the host has stopped", len(errs))
		}
		for _, err := range errs {
			w.is(err, messages.Unavailable)
		}
		w.begin()
	})
}
