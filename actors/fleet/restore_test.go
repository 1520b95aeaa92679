package fleet_test

import (
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// resources is a host with an engine and one resource of each kind, created through the API.
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
		wanted[messages.Location](h, messages.CreateLocation{Location: messages.Location{Name: "custom-attic"}})
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

// wanted sends a request. The request must succeed.
func wanted[A any, Q messages.RequestOf[A]](h *host, q Q) A {
	h.Helper()
	a, err := request[A](h, q)
	if err != nil {
		h.Fatalf("%+v: %v", q, err)
	}
	return a
}

func (h *resources) fleets() map[messages.FleetID]*messages.Fleet {
	h.Helper()
	all := assert.Value(request[[]*messages.Fleet](h.host, messages.FleetQuery{}))(h)
	byID := make(map[messages.FleetID]*messages.Fleet)
	for _, f := range all {
		byID[f.ID] = f
	}
	return byID
}

func TestARestartedFleetServesTheNewestContent(t *testing.T) {
	withResources(t, func(h *resources) {
		wanted[messages.UpdatedScript](h.host, changeOf(h.script.ID, "main.js=two"))
		h.restart()
		q := create(h.fleet.ID, "")
		q.FleetID, q.AliasID = "", h.alias.ID
		if g := h.must(q); g.ScriptVersion != "2 (2.0)" || g.FleetID != h.fleet.ID {
			t.Errorf("it runs %q on %s", g.ScriptVersion, g.FleetID)
		}
		assert.Equal(t, "it runs", h.engine.last().program.text, "two")
		events := wanted[[]messages.FleetEvent](h.host, messages.FleetEventQuery{ID: h.fleet.ID})
		for i, e := range events {
			want := 2
			if e.Code == "FLEET_CREATED" {
				want = 1
			}
			if e.Count != want || i > 0 && e.Time.Before(events[i-1].Time) {
				t.Errorf("event %+v", e)
			}
		}
		assert.Equal(t, "events", len(events), len(trail))
	})
}

func TestAFleetThatWasDeletingEndsTerminated(t *testing.T) {
	withResources(t, func(h *resources) {
		h.must(create(h.fleet.ID, ""))
		h.disk.Hold() // the end of the game session is not stored
		later[stage.None](h.host, messages.DeleteFleet{ID: h.fleet.ID})
		h.disk.Next()
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
		assert.Equal(t, "fleets are stored", len(h.disk.Records(store.Fleet)), 0)
	})
}
