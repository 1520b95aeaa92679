package fleet_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// resources is a host with an engine, and one resource of each kind that the API has created on it.
type resources struct {
	*host
	engine *engine
	script *messages.Script
	fleet  *messages.Fleet
	alias  *messages.Alias
}

// withResources runs a test on such a host.
func withResources(t *testing.T, test func(h *resources)) {
	t.Helper()
	e := &engine{lines: map[messages.GameSessionID][]string{}, closed: map[messages.GameSessionID]bool{}}
	hosted(t, func(o *fleet.Options) {
		o.NewProgram = e.newProgram
		o.Locations = []messages.Location{{Name: actorstest.Home}, {Name: actorstest.Away}}
		own := newScriptOf("main.js=own")
		o.Scripts = []catalog.Script{{Record: &messages.Script{ID: "script-own", Contents: 1}, Bundle: own.Bundle}}
	}, func(h *host) {
		r := &resources{host: h, engine: e}
		r.script = wanted[*messages.Script](h, newScriptOf("main.js=one"))
		r.fleet = wanted[*messages.Fleet](h, messages.CreateFleet{
			Name: "f", Description: "d", ScriptID: r.script.ID, Runtime: processes("2 main.js"), Locations: []string{actorstest.Home, actorstest.Away},
			Ports: []messages.Port{{From: 1, To: 2, Range: "::/0", Protocol: "UDP"}}, Tags: map[string]string{"k": "v"},
			Shown: messages.FleetShown{InstanceType: "c5.large", Protection: true},
		})
		r.alias = wanted[*messages.Alias](h, messages.CreateAlias{Name: "a", Description: "d", FleetID: r.fleet.ID, Tags: map[string]string{"k": "v"}})
		wanted[messages.Location](h, messages.Location{Name: "custom-attic"})
		test(r)
	})
}

func newScriptOf(files ...string) catalog.NewScript {
	zip := archive(files...)
	b, err := bundle.FromZip(zip, bundle.Limits{})
	if err != nil {
		panic(err)
	}
	return catalog.NewScript{Request: messages.CreateScript{Name: "s", Version: "1.0", Zip: zip, Tags: map[string]string{"k": "v"}}, Bundle: b}
}

func changeOf(id messages.ScriptID, files ...string) catalog.ChangeScript {
	n := newScriptOf(files...)
	return catalog.ChangeScript{Request: messages.UpdateScript{ID: id, Version: "2.0", Zip: n.Request.Zip}, Bundle: n.Bundle}
}

// wanted sends a request that must succeed.
func wanted[A, Q any](h *host, q Q) A {
	h.Helper()
	a, err := request[A](h, q)
	if err != nil {
		h.Fatalf("%+v: %v", q, err)
	}
	return a
}

// state returns the resources as the API shows them, as lines of JSON: fleets first.
func (h *resources) state() (lines []string) {
	h.Helper()
	add := func(v any) {
		line, err := json.Marshal(v)
		if err != nil {
			h.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	for _, f := range h.fleets() {
		add(f)
	}
	for _, a := range wanted[[]*messages.Alias](h.host, catalog.Aliases{}) {
		add(a)
	}
	for _, s := range wanted[[]*messages.Script](h.host, catalog.Scripts{}) {
		add(s)
	}
	for _, l := range wanted[[]messages.Location](h.host, catalog.Locations{}) {
		add(l)
	}
	return lines
}

func (h *resources) fleets() map[messages.FleetID]*messages.Fleet {
	h.Helper()
	all, err := request[[]*messages.Fleet](h.host, catalog.Fleets{})
	if err != nil {
		h.Fatal(err)
	}
	byID := make(map[messages.FleetID]*messages.Fleet)
	for _, f := range all {
		byID[f.ID] = f
	}
	return byID
}

// same fails unless two states are equal.
func (h *resources) same(what string, got, want []string) {
	h.Helper()
	slices.Sort(got)
	slices.Sort(want)
	for _, line := range got {
		if !slices.Contains(want, line) {
			h.Errorf("%s: there is %s", what, line)
		}
	}
	for _, line := range want {
		if !slices.Contains(got, line) {
			h.Errorf("%s: missing is %s", what, line)
		}
	}
}

func pointer[T any](v T) *T { return &v }

// writes returns requests that change a resource, one of each kind.
func (h *resources) writes() map[string]func() error {
	return map[string]func() error{
		"CreateScript": func() error { _, err := request[*messages.Script](h.host, newScriptOf("main.js=x")); return err },
		"UpdateScript": func() error {
			_, err := request[catalog.Changed](h.host, changeOf(h.script.ID, "main.js=two"))
			return err
		},
		"rename a script": func() error {
			_, err := request[catalog.Changed](h.host, catalog.ChangeScript{Request: messages.UpdateScript{ID: h.script.ID, Name: "other"}})
			return err
		},
		"CreateFleet": func() error {
			_, err := request[*messages.Fleet](h.host, messages.CreateFleet{ScriptID: h.script.ID, Locations: []string{actorstest.Home}})
			return err
		},
		"UpdateFleet": func() error {
			_, err := request[*messages.Fleet](h.host, messages.UpdateFleet{FleetID: h.fleet.ID, Name: pointer("other"), Protection: pointer(false),
				CreatorLimit: &messages.CreatorLimit{PerPeriod: 1, Period: time.Minute}})
			return err
		},
		"UpdateRuntime": func() error {
			_, err := request[*messages.Fleet](h.host, messages.UpdateRuntime{FleetID: h.fleet.ID, Runtime: processes("3 main.js")})
			return err
		},
		"UpdateCapacity": func() error {
			_, err := request[*messages.Fleet](h.host, messages.UpdateCapacity{FleetID: h.fleet.ID, Location: actorstest.Away, Desired: pointer(2), Max: pointer(3)})
			return err
		},
		"UpdatePorts": func() error {
			_, err := request[*messages.Fleet](h.host, messages.UpdatePorts{FleetID: h.fleet.ID, Remove: h.fleet.Ports})
			return err
		},
		"AddLocations": func() error {
			_, err := request[*messages.Fleet](h.host, catalog.AddLocations{FleetID: h.fleet.ID, Locations: []string{"custom-attic"}})
			return err
		},
		"RemoveLocations": func() error {
			_, err := request[*messages.Fleet](h.host, catalog.RemoveLocations{FleetID: h.fleet.ID, Locations: []string{actorstest.Away}})
			return err
		},
		"CreateAlias": func() error {
			_, err := request[*messages.Alias](h.host, messages.CreateAlias{Name: "b", Message: "closed"})
			return err
		},
		"UpdateAlias": func() error {
			_, err := request[*messages.Alias](h.host, messages.UpdateAlias{ID: h.alias.ID, Name: pointer("b"), Routing: &messages.Routing{Message: "closed"}})
			return err
		},
		"CreateLocation": func() error {
			_, err := request[messages.Location](h.host, messages.Location{Name: "custom-cellar"})
			return err
		},
		"DeleteLocation": func() error {
			_, err := request[stage.None](h.host, catalog.DropLocation{Name: "custom-attic"})
			return err
		},
		"tags of a fleet":    func() error { return h.tag("fleet", string(h.fleet.ID)) },
		"tags of an alias":   func() error { return h.tag("alias", string(h.alias.ID)) },
		"tags of a script":   func() error { return h.tag("script", string(h.script.ID)) },
		"tags of a location": func() error { return h.tag("location", "custom-attic") },
		"DeleteFleet":        func() error { _, err := request[stage.None](h.host, catalog.DropFleet{ID: h.fleet.ID}); return err },
		"DeleteAlias":        func() error { _, err := request[stage.None](h.host, catalog.DropAlias{ID: h.alias.ID}); return err },
	}
}

func (h *resources) tag(kind, id string) error {
	_, err := request[map[string]string](h.host, messages.UpdateTags{
		Resource: messages.Resource{Kind: kind, ID: id}, Set: map[string]string{"new": "1"}, Remove: []string{"k"}})
	return err
}

func TestEachWriteIsThereAfterARestart(t *testing.T) {
	for _, name := range writeNames(t) {
		t.Run(name, func(t *testing.T) {
			withResources(t, func(h *resources) {
				before := h.state()
				if err := h.writes()[name](); err != nil {
					t.Fatal(err)
				}
				after := h.state()
				if slices.Equal(before, after) {
					t.Error("nothing has changed")
				}
				h.restart()
				h.same("after a restart", h.state(), after)
				h.restart()
				h.same("after two", h.state(), after)
			})
		})
	}
}

func writeNames(t *testing.T) (names []string) {
	withResources(t, func(h *resources) { names = slices.Sorted(maps.Keys(h.writes())) })
	return names
}

func TestARefusedChangeChangesNothing(t *testing.T) {
	for _, name := range writeNames(t) {
		t.Run(name, func(t *testing.T) {
			withResources(t, func(h *resources) {
				before := h.state()
				h.disk.set(errDisk)
				h.is(h.writes()[name](), messages.Internal)
				h.same("after the error", h.state(), before)
				h.disk.set(nil)
				if err := h.writes()[name](); err != nil {
					t.Errorf("again: %v", err)
				}
			})
		})
	}
}

func TestNoWriteIsAnsweredBeforeItIsDurable(t *testing.T) {
	for _, name := range writeNames(t) {
		t.Run(name, func(t *testing.T) {
			withResources(t, func(h *resources) {
				before := h.state()
				h.disk.hold()
				if err := h.writes()[name](); err == nil || !strings.Contains(err.Error(), "deadline") {
					t.Errorf("it was answered: %v", err)
				}
				h.restart() // without having written it
				h.same("after a restart", h.state(), before)
			})
		})
	}
}

func TestARestartedFleetServesTheNewestContent(t *testing.T) {
	withResources(t, func(h *resources) {
		wanted[catalog.Changed](h.host, changeOf(h.script.ID, "main.js=two"))
		h.restart()
		q := create(h.fleet.ID, "")
		q.FleetID, q.AliasID = "", h.alias.ID
		if g := h.must(q); g.ScriptVersion != "2 (2.0)" || g.FleetID != h.fleet.ID {
			t.Errorf("it runs %q on %s", g.ScriptVersion, g.FleetID)
		}
		if text := h.engine.last().program.text; text != "two" {
			t.Errorf("it runs %q", text)
		}
		events := wanted[[]messages.FleetEvent](h.host, catalog.Events{ID: h.fleet.ID})
		for i, e := range events {
			want := 2
			if e.Code == "FLEET_CREATED" {
				want = 1
			}
			if e.Count != want || i > 0 && e.Time.Before(events[i-1].Time) {
				t.Errorf("event %+v", e)
			}
		}
		if len(events) != len(trail) {
			t.Errorf("%d events", len(events))
		}
	})
}

func TestAFleetThatWasDeletingEndsTerminated(t *testing.T) {
	withResources(t, func(h *resources) {
		h.must(create(h.fleet.ID, ""))
		h.disk.hold() // the end of the game session is not stored
		h.registry.Tell(stage.Request[catalog.DropFleet, stage.None]{Request: catalog.DropFleet{ID: h.fleet.ID}, Reply: func(stage.None, error) {}})
		time.Sleep(time.Millisecond)
		h.disk.mu.Lock()
		first := h.disk.queued[0]
		h.disk.queued = nil
		h.disk.mu.Unlock()
		first.do(&h.disk.Memory)
		h.restart()
		if f := h.fleets()[h.fleet.ID]; f.Status != messages.FleetTerminated || f.Terminated.IsZero() {
			t.Errorf("it is %v", f.Status)
		}
		_, err := h.create(create(h.fleet.ID, ""))
		h.is(err, messages.InvalidFleetStatus)
		time.Sleep(25 * time.Hour)
		if _, there := h.fleets()[h.fleet.ID]; there {
			t.Error("it is shown for ever")
		}
		if n := h.disk.records(store.Fleet); n != 0 {
			t.Errorf("%d fleets are stored", n)
		}
	})
}

func TestADeletedScriptIsGoneWithItsContent(t *testing.T) {
	withResources(t, func(h *resources) {
		drop := catalog.DropScript{ID: h.script.ID}
		_, err := request[stage.None](h.host, drop)
		h.is(err, messages.InvalidRequest) // a fleet uses it (D-208)
		wanted[stage.None](h.host, catalog.DropFleet{ID: h.fleet.ID})
		h.disk.set(errDisk)
		_, err = request[stage.None](h.host, drop)
		h.is(err, messages.Internal)
		h.disk.set(nil)
		wanted[stage.None](h.host, drop)
		h.restart()
		_, err = request[[]*messages.Script](h.host, catalog.Scripts{ID: h.script.ID})
		h.is(err, messages.NotFound)
		if n := h.disk.records(store.Script) + h.disk.records(store.Content); n != 0 {
			t.Errorf("%d records of scripts are stored", n)
		}
	})
}

func TestTheConfigurationWinsOverTheStore(t *testing.T) {
	withResources(t, func(h *resources) {
		wanted[*messages.Fleet](h.host, messages.UpdateFleet{FleetID: actorstest.Fleet, Name: pointer("by the API"), Protection: pointer(true)})
		wanted[*messages.Alias](h.host, messages.UpdateAlias{ID: actorstest.Alias, Routing: &messages.Routing{Message: "closed"}})
		wanted[stage.None](h.host, catalog.DropFleet{ID: actorstest.Small})
		for kind, id := range map[string]string{"alias": string(actorstest.Alias), "script": "script-own", "fleet": string(actorstest.Fleet)} {
			if err := h.tag(kind, id); err != nil {
				t.Error(err)
			}
		}
		h.restart()
		if f := h.fleets()[actorstest.Fleet]; f.Name != "" || !f.Shown.Protection || f.Tags["new"] != "1" {
			t.Errorf("the fleet is %+v", f)
		}
		if f := h.fleets()[actorstest.Small]; f.Status != messages.FleetActive {
			t.Errorf("the deleted one is %v", f.Status)
		}
		if a := wanted[[]*messages.Alias](h.host, catalog.Aliases{ID: actorstest.Alias})[0]; a.FleetID != actorstest.Fleet || a.Message != "" || a.Tags["new"] != "1" {
			t.Errorf("the alias is %+v", a)
		}
		if s := wanted[[]*messages.Script](h.host, catalog.Scripts{ID: "script-own"})[0]; s.Tags["new"] != "1" {
			t.Errorf("the script is %+v", s)
		}
		h.options.Fleets, h.options.Aliases, h.options.Scripts = nil, nil, nil
		h.restart() // resources that are no longer in the configuration are gone
		if n := len(h.fleets()) + len(wanted[[]*messages.Alias](h.host, catalog.Aliases{})) + len(wanted[[]*messages.Script](h.host, catalog.Scripts{})); n != 3 {
			t.Errorf("%d fleets, aliases and scripts, want the API's", n)
		}
	})
}
