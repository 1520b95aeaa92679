package catalog

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
)

// owner is an actor with a catalog, and records the calls to its Listener.
type owner struct {
	c    *Catalog
	told []string
}

func (o *owner) Started(c *stage.Context) {
	o.c.Started(c)
	o.c.Revive()
}

func (o *owner) Stopped(*stage.Context) { o.c.Stopped(true) }

func (o *owner) Receive(c *stage.Context, msg any) {
	if f, ok := msg.(func()); ok {
		f()
	} else if !o.c.Receive(msg) {
		c.Unknown(msg)
	}
}

func (o *owner) tell(format string, args ...any) {
	o.told = append(o.told, fmt.Sprintf(format, args...))
}

func (o *owner) FleetChanged(*messages.Fleet)      {}
func (o *owner) FleetConfigured(f *messages.Fleet) { o.tell("configured %d", len(f.Runtime.Processes)) }
func (o *owner) FleetOpened(*messages.Fleet)       { o.tell("opened") }
func (o *owner) CapacityChanged(_ *messages.Fleet, location string) {
	o.tell("capacity %q", location)
}
func (o *owner) LocationsRemoved(_ *messages.Fleet, locations []string) { o.tell("left %v", locations) }
func (o *owner) FleetClosed(*messages.Fleet)                            { o.tell("closed") }
func (o *owner) FleetForgotten(messages.FleetID)                        { o.tell("forgotten") }
func (o *owner) VersionRenamed(messages.ScriptID)                       { o.tell("renamed") }
func (o *owner) ContentChanged(_ messages.ScriptID, _ time.Duration, done func([]string, bool)) {
	o.tell("content")
	done([]string{"it throws"}, false)
}

// ask sends a request to the catalog and waits for the answer.
func ask[A, Q any](t *testing.T, ref *stage.Ref, q Q) (a A) {
	t.Helper()
	answered := false
	ref.Tell(stage.Request[Q, A]{Request: q, Reply: func(got A, err error) {
		if answered = true; err != nil {
			t.Error(err)
		}
		a = got
	}})
	if synctest.Wait(); !answered {
		t.Errorf("%T is not answered", q)
	}
	return a
}

// The catalog calls its Listener after a change. Here it runs without game sessions and processes.
func TestTheListenerReceivesConsequencesOfChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		defer func() {
			s.Close()
			time.Sleep(5 * time.Second) // for goroutines of the actor library to end
		}()
		o := new(owner)
		var err error
		o.c, err = New(Options{
			Region: "home", Locations: []messages.Location{{Name: "away"}}, ProcessesMax: 10, GroupsMax: 10, Store: new(store.Memory), Listener: o,
		})
		if err != nil {
			t.Fatal(err)
		}
		ref := s.Spawn(o)
		do := func(f func()) { ref.Tell(f); synctest.Wait() }
		is := func(step string, want ...string) {
			t.Helper()
			if synctest.Wait(); !slices.Equal(o.told, want) {
				t.Errorf("%s: told %q, want %q", step, o.told, want)
			}
			o.told = nil
		}
		b := &bundle.Bundle{Files: map[string][]byte{"main.js": []byte("text")}}
		script := ask[*messages.Script](t, ref, NewScript{Request: messages.CreateScript{Name: "game", Zip: []byte("zip")}, Bundle: b})
		f := ask[*messages.Fleet](t, ref, messages.CreateFleet{
			Name: "fleet", ScriptID: script.ID, Locations: []string{"home", "away"},
			Runtime: messages.RuntimeConfiguration{Processes: []messages.ServerProcess{{LaunchPath: "main.js", Concurrent: 2}}},
		})
		is("CreateFleet", "configured 1")
		do(func() { o.c.FleetRuns(f.ID) })
		is("a process runs", "opened")
		ask[*messages.Fleet](t, ref, messages.UpdateCapacity{FleetID: f.ID, Location: "away", Desired: new(0)})
		is("UpdateFleetCapacity", `capacity "away"`)
		if n := Capacity(o.c.Fleet(f.ID), "away"); n != 0 {
			t.Errorf("the capacity is %d, want 0", n)
		}
		ask[*messages.Fleet](t, ref, RemoveLocations{FleetID: f.ID, Locations: []string{"away"}})
		is("DeleteFleetLocations", "left [away]")
		changed := ask[Changed](t, ref, ChangeScript{Request: messages.UpdateScript{ID: script.ID}, Bundle: b})
		is("UpdateScript with a content", "content")
		if len(changed.Refused) != 1 || changed.Script.Contents != 2 {
			t.Errorf("answered %+v", changed)
		}
		ask[Changed](t, ref, ChangeScript{Request: messages.UpdateScript{ID: script.ID, Version: "2.0"}})
		is("UpdateScript with a name", "renamed")
		ask[stage.None](t, ref, DropFleet{ID: f.ID})
		is("DeleteFleet", "closed")
		if got := o.c.Fleet(f.ID).Status; got != messages.FleetDeleting {
			t.Errorf("a fleet with game sessions is %v", got)
		}
		do(func() { o.c.Emptied(f.ID) })
		if got := o.c.Fleet(f.ID).Status; got != messages.FleetTerminated {
			t.Errorf("an empty fleet is %v", got)
		}
		time.Sleep(terminatedKeep + time.Second)
		if all := ask[[]*messages.Fleet](t, ref, Fleets{}); len(all) != 0 {
			t.Errorf("%d fleets are shown", len(all))
		}
		is("a day later", "forgotten")
	})
}
