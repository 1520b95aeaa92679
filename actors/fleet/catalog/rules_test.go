package catalog

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/store"
	"troupe/messages"
)

func TestRefusedRequestsChangeNothing(t *testing.T) {
	port := func(n int) messages.Port { return messages.Port{From: n, To: n, Range: "::/0", Protocol: "TCP"} }
	run(t, func(w *world) {
		before := w.state()
		id, n := w.fleet.ID, 101
		for _, c := range []struct {
			code messages.ErrorCode
			all  []any
		}{
			{messages.InvalidRequest, []any{
				messages.UpdateCapacity{FleetID: id, Desired: new(4)}, // more than the maximum of 1
				messages.UpdateCapacity{FleetID: id, Min: new(3)},
				messages.UpdateCapacity{FleetID: id, Max: new(0)},
				messages.AddFleetLocations{FleetID: id, Locations: []string{"mars"}},
				messages.RemoveFleetLocations{FleetID: id, Locations: []string{home}},
				messages.UpdatePorts{FleetID: id, Remove: []messages.Port{port(1)}},
				messages.UpdateRuntime{FleetID: configured, Runtime: processes(1)}, // the fleet has no script
				messages.CreateFleet{ScriptID: w.script.ID, Locations: []string{home, "mars"}},
				// Limits on request members are checked first (service-api.md 1.3).
				messages.CreateFleet{ScriptID: w.script.ID, Runtime: processes(51)},
				messages.CreateFleet{ScriptID: "script-none", Runtime: processes(51)},
				messages.DeleteScript{ID: w.script.ID}, // a fleet uses the script (D-208)
			}},
			{messages.LimitExceeded, []any{
				messages.UpdateCapacity{FleetID: id, Max: &n},
				messages.UpdateRuntime{FleetID: id, Runtime: processes(51)},
			}},
			{messages.Conflict, []any{
				messages.AddFleetLocations{FleetID: id, Locations: []string{attic, away}},
				messages.UpdatePorts{FleetID: id, Add: []messages.Port{port(1), port(1)}},
				messages.UpdatePorts{FleetID: id, Add: w.fleet.Ports},
				messages.CreateFleet{ScriptID: w.script.ID, Locations: []string{home}, Ports: []messages.Port{port(1), port(1)}},
			}},
			{messages.NotFound, []any{
				messages.UpdateCapacity{FleetID: "fleet-none", Max: new(1)},
				messages.UpdateCapacity{FleetID: id, Location: "mars", Max: new(1)},
				messages.RemoveFleetLocations{FleetID: id, Locations: []string{"mars"}},
				messages.CreateFleet{ScriptID: "script-none"},
				messages.TagQuery{Resource: messages.Resource{Kind: "fleet", ID: "fleet-none"}}, messages.TagQuery{Resource: messages.Resource{Kind: "gamesession", ID: "x"}},
				messages.TagQuery{Resource: messages.Resource{Kind: "location", ID: home}}, messages.TagQuery{Resource: messages.Resource{}},
			}},
			{messages.InvalidFleetStatus, []any{messages.UpdateCapacity{FleetID: asleep, Max: new(2)}}},
		} {
			for _, q := range c.all {
				w.refuses(c.code, q)
			}
		}
		w.same("afterwards", before)
	})
}

func TestResourcesOfTheAPIAreBounded(t *testing.T) {
	run(t, func(w *world) {
		create := func(most int, q func(n int) any) {
			t.Helper()
			for n := range most {
				if _, err := w.try(q(n)); err != nil {
					t.Fatalf("number %d: %v", n, err)
				}
			}
			w.refuses(messages.LimitExceeded, q(most))
		}
		create(1000-2, func(int) any { return messages.CreateAlias{Name: "a", Message: "m"} }) // two aliases exist already
		create(1000-1, func(n int) any {
			return messages.CreateLocation{Location: messages.Location{Name: fmt.Sprintf("custom-%d", n)}}
		})
		many := make([]string, 100-1)
		for n := range many {
			many[n] = fmt.Sprintf("custom-%d", n)
		}
		w.refuses(messages.LimitExceeded, messages.AddFleetLocations{FleetID: w.fleet.ID, Locations: many})
		do[*messages.Fleet](w, messages.AddFleetLocations{FleetID: w.fleet.ID, Locations: many[1:]})
		var ports []messages.Port
		for n := range 50 {
			ports = append(ports, messages.Port{From: n + 1, To: n + 1, Range: "::/0", Protocol: "TCP"})
		}
		w.refuses(messages.LimitExceeded, messages.UpdatePorts{FleetID: w.fleet.ID, Add: ports})
		do[*messages.Fleet](w, messages.UpdatePorts{FleetID: w.fleet.ID, Add: ports, Remove: w.fleet.Ports})
		assert.List(t, "its ports are", w.shown(w.fleet.ID).Ports, ports)
		tags := make(map[string]string)
		for n := range messages.TagsMax {
			tags[strings.Repeat("x", n+1)] = ""
		}
		q := messages.UpdateTags{Resource: messages.Resource{Kind: "fleet", ID: string(w.fleet.ID)}, Set: tags}
		w.refuses(messages.TaggingFailed, q) // too many together with the existing tag
		q.Remove = []string{"k"}
		if now := do[map[string]string](w, q); len(now) != messages.TagsMax {
			t.Errorf("%d tags", len(now))
		}
	})
}

func TestLocationsComeAndGo(t *testing.T) {
	run(t, func(w *world) {
		do[*messages.Fleet](w, messages.AddFleetLocations{FleetID: w.fleet.ID, Locations: []string{attic}})
		w.refuses(messages.InvalidRequest, messages.DeleteLocation{Name: attic}) // a fleet uses the location
		do[*messages.Fleet](w, messages.RemoveFleetLocations{FleetID: w.fleet.ID, Locations: []string{attic, away}})
		assert.List(t, "it is in", w.shown(w.fleet.ID).Locations, []string{home})
		do[any](w, messages.DeleteLocation{Name: attic})
	})
}

func TestADeletingFleetIsNotChanged(t *testing.T) {
	run(t, func(w *world) {
		do[any](w, messages.DeleteFleet{ID: w.fleet.ID})
		writes := w.writes()
		for _, name := range []string{"UpdateFleet", "UpdateRuntime", "UpdateCapacity", "UpdatePorts", "AddLocations", "RemoveLocations"} {
			w.refuses(messages.InvalidFleetStatus, writes[name])
		}
		w.refuses(messages.NotFound, writes["DeleteFleet"]) // the fleet had no game sessions, so it is already TERMINATED
		w.refuses(messages.InvalidRequest, messages.CreateAlias{Name: "x", FleetID: w.fleet.ID})
		w.refuses(messages.NotFound, messages.UpdateAlias{ID: routed, Routing: &messages.Routing{FleetID: w.fleet.ID}})
		// An alias is not deleted together with its fleet (service-api.md 2.4).
		if f, err := w.owner.c.Resolve("", w.alias.ID); err != nil || f.ID != w.fleet.ID {
			t.Errorf("the alias leads to %+v, %v", f, err)
		}
	})
}

// Earlier builds of Troupe did not count the folders of a script.
func TestAStoredScriptMayHaveManyFolders(t *testing.T) {
	run(t, func(w *world) {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		for i := range 400 {
			if _, err := z.Create(strings.Repeat(fmt.Sprint(i, "/"), 30) + "main.js"); err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		for id := range w.disk.Records(store.Content) {
			w.disk.Put(store.Content, id, out.String())
		}
		w.restart()
		if newest, _ := w.owner.c.Contents(w.script.ID); newest.Bundle == nil || len(newest.Bundle.Files) != 400 {
			t.Errorf("%+v, %v", newest, w.owner.c.Unread().Damaged())
		}
	})
}

func TestADeletedScriptIsGoneWithItsContent(t *testing.T) {
	run(t, func(w *world) {
		drop := messages.DeleteScript{ID: w.script.ID}
		do[any](w, messages.DeleteFleet{ID: w.fleet.ID})
		w.disk.Break(true)
		w.refuses(messages.Internal, drop)
		w.disk.Break(false)
		do[any](w, drop)
		w.restart()
		w.refuses(messages.NotFound, messages.ScriptQuery{ID: w.script.ID})
		if s, c := w.disk.Records(store.Script), w.disk.Records(store.Content); len(s)+len(c) != 0 {
			t.Errorf("stored are %s and %s", s, c)
		}
	})
}

// Deleted fleets make room for new ones. They are shown for a day, but only a limited number of them.
func TestDeletedFleetsLeaveRoom(t *testing.T) {
	run(t, func(w *world) {
		var ids []messages.FleetID
		for range 2100 {
			f := do[*messages.Fleet](w, messages.CreateFleet{Anywhere: true, Locations: []string{home}})
			do[any](w, messages.DeleteFleet{ID: f.ID})
			ids = append(ids, f.ID)
			time.Sleep(time.Millisecond)
		}
		live := len(do[[]*messages.Fleet](w, messages.FleetQuery{})) - 1000
		assert.Equal(t, "fleets live", live, 3)
		for n, want := range map[int]bool{0: false, 2100 - 1000 - 1: false, 2100 - 1000: true, 2099: true} {
			if got := w.shown(ids[n]).ID != ""; got != want {
				t.Errorf("fleet %d is shown: %v", n, got)
			}
		}
		time.Sleep(25 * time.Hour) // no request shows them after a day
		w.refuses(messages.NotFound, messages.FleetEventQuery{ID: ids[2099]})
		for n := len(do[[]*messages.Fleet](w, messages.FleetQuery{})); n < 1000; n++ {
			do[*messages.Fleet](w, messages.CreateFleet{Anywhere: true, Locations: []string{home}})
		}
		w.refuses(messages.LimitExceeded, messages.CreateFleet{Anywhere: true, Locations: []string{home}})
	})
}

func TestTheConfigurationWinsOverTheStore(t *testing.T) {
	run(t, func(w *world) {
		do[*messages.Fleet](w, messages.UpdateFleet{FleetID: configured, Name: new("by the API"), Protection: new(true)})
		do[*messages.Alias](w, messages.UpdateAlias{ID: routed, Routing: &messages.Routing{Message: "closed"}})
		do[any](w, messages.DeleteFleet{ID: asleep})
		for kind, id := range map[string]string{"alias": string(routed), "script": "script-own", "fleet": string(configured)} {
			do[any](w, messages.UpdateTags{Resource: messages.Resource{Kind: kind, ID: id}, Set: map[string]string{"new": "1"}})
		}
		w.restart()
		if f := w.shown(configured); f.Name != "" || !f.Shown.Protection || f.Tags["new"] != "1" {
			t.Errorf("the fleet is %+v", f)
		}
		if f := w.shown(asleep); f.Status != messages.FleetActivating {
			t.Errorf("the deleted one is %v", f.Status)
		}
		if a := do[[]*messages.Alias](w, messages.AliasQuery{ID: routed})[0]; a.FleetID != configured || a.Message != "" || a.Tags["new"] != "1" {
			t.Errorf("the alias is %+v", a)
		}
		if s := do[[]*messages.Script](w, messages.ScriptQuery{ID: "script-own"})[0]; s.Tags["new"] != "1" {
			t.Errorf("the script is %+v", s)
		}
		w.options.Fleets, w.options.Aliases, w.options.Scripts = nil, nil, nil
		w.restart() // resources that are no longer in the configuration do not exist any more
		if n := len(do[[]*messages.Fleet](w, messages.FleetQuery{})) + len(do[[]*messages.Alias](w, messages.AliasQuery{})) + len(do[[]*messages.Script](w, messages.ScriptQuery{})); n != 3 {
			t.Errorf("%d fleets, aliases and scripts, want the API's", n)
		}
	})
}

// A damaged record never prevents the host from starting.
func TestADamagedRecordIsLeftOut(t *testing.T) {
	run(t, func(w *world) {
		shown := w.state()
		for _, kind := range []store.Kind{store.Fleet, store.Alias, store.Script, store.Build, store.Location} {
			for _, value := range []string{"", "{}", "[]", `{"Fleet":5,"Tags":7,"fleet":5,"g":5}`, "PK\x03\x04"} {
				w.disk.Put(kind, "broken-1", value)
				w.restart()
				if d := w.owner.c.Unread().Damaged(); len(d) != 1 || d[0].Kind != kind || d[0].ID != "broken-1" {
					t.Errorf("%s %q: it names %v", kind, value, d)
				}
				w.same(string(kind)+" "+value, shown)
			}
			w.disk.Memory.Commit([]store.Change{store.Delete(kind, "broken-1")}, nil)
		}
	})
}
