package fleet_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"troupe/actors/actorstest"
	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/stage"
	"troupe/messages"
)

// use returns the capacity and utilization of a fleet in a location.
func (h *resources) use(id messages.FleetID, location string) messages.FleetUse {
	h.Helper()
	uses := wanted[[]messages.FleetUse](h.host, messages.FleetUseQuery{FleetIDs: []messages.FleetID{id}, Location: location})
	if len(uses) != 1 {
		h.Fatal(uses)
	}
	return uses[0]
}

// groups sets the desired number of process groups of a fleet in a location.
func (h *resources) groups(location string, desired, most int) error {
	_, err := request[*messages.Fleet](h.host, messages.UpdateCapacity{FleetID: h.fleet.ID, Location: location, Desired: &desired, Max: &most})
	return err
}

func TestCapacityIsInProcessGroupsPerLocation(t *testing.T) {
	withResources(t, func(h *resources) {
		if u := h.use(h.fleet.ID, ""); u.Groups != (messages.Groups{Desired: 1, Min: 0, Max: 1}) || u.Active != 1 || u.Idle != 1 || u.Processes != 2 || u.Location != actorstest.Home {
			t.Errorf("at first: %+v", u)
		}
		if err := h.groups("", 2, 3); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			h.must(create(h.fleet.ID, ""))
		}
		_, err := h.create(create(h.fleet.ID, ""))
		h.is(err, messages.FleetCapacityExceeded)
		if u := h.use(h.fleet.ID, ""); u.Active != 2 || u.Idle != 0 || u.Processes != 4 || u.GameSessions != 4 || u.PlayersMax != 4*create(h.fleet.ID, "").MaxPlayers {
			t.Errorf("full: %+v", u)
		}
		if u := h.use(h.fleet.ID, actorstest.Away); u.Groups.Desired != 1 || u.Processes != 2 || u.GameSessions != 0 {
			t.Errorf("away: %+v", u)
		}
		for what, c := range map[string]struct {
			q    messages.UpdateCapacity
			code messages.ErrorCode
		}{
			"desired over max":  {messages.UpdateCapacity{FleetID: h.fleet.ID, Desired: pointer(4)}, messages.InvalidRequest},
			"min over desired":  {messages.UpdateCapacity{FleetID: h.fleet.ID, Min: pointer(3)}, messages.InvalidRequest},
			"max under desired": {messages.UpdateCapacity{FleetID: h.fleet.ID, Max: pointer(1)}, messages.InvalidRequest},
			"over the host's":   {messages.UpdateCapacity{FleetID: h.fleet.ID, Max: pointer(fleet.DefaultGroupsMax + 1)}, messages.LimitExceeded},
			"unknown fleet":     {messages.UpdateCapacity{FleetID: "fleet-none", Max: pointer(1)}, messages.NotFound},
			"unknown location":  {messages.UpdateCapacity{FleetID: h.fleet.ID, Location: "mars", Max: pointer(1)}, messages.NotFound},
			"not ACTIVE":        {messages.UpdateCapacity{FleetID: actorstest.Asleep, Max: pointer(2)}, messages.InvalidFleetStatus},
		} {
			_, err := request[*messages.Fleet](h.host, c.q)
			t.Log(what)
			h.is(err, c.code)
		}
		if g := h.use(h.fleet.ID, "").Groups; g != (messages.Groups{Desired: 2, Min: 0, Max: 3}) {
			t.Errorf("after refusals: %+v", g)
		}
	})
}

func TestAScaleDownEndsUnprotectedGameSessions(t *testing.T) {
	withResources(t, func(h *resources) { // new game sessions of the fleet are protected at first
		if err := h.groups("", 2, 2); err != nil {
			t.Fatal(err)
		}
		protected := h.must(create(h.fleet.ID, ""))
		wanted[*messages.Fleet](h.host, messages.UpdateFleet{FleetID: h.fleet.ID, Protection: pointer(false)})
		old, young := h.must(create(h.fleet.ID, "")), h.must(create(h.fleet.ID, ""))
		away := create(h.fleet.ID, "")
		away.Location = actorstest.Away
		elsewhere := h.must(away)
		if err := h.groups("", 1, 1); err != nil {
			t.Fatal(err)
		}
		for g, want := range map[*messages.GameSession]messages.GameSessionStatus{
			protected: messages.GameSessionActive, old: messages.GameSessionActive, young: messages.GameSessionTerminated, elsewhere: messages.GameSessionActive,
		} {
			if got := h.game(g.ID).Status; got != want {
				t.Errorf("it is %v, want %v", got, want)
			}
		}
		if err := h.groups("", 0, 1); err != nil {
			t.Fatal(err)
		}
		if h.game(protected.ID).Status != messages.GameSessionActive || h.game(old.ID).Status != messages.GameSessionTerminated {
			t.Error("the one with protection ended, or the one without did not")
		}
		if u := h.use(h.fleet.ID, ""); u.Active != 0 || u.Terminating != 1 || u.Processes != 1 || u.GameSessions != 1 {
			t.Errorf("%+v", u)
		}
		all := wanted[[]messages.Instance](h.host, messages.InstanceQuery{FleetID: h.fleet.ID})
		if len(all) != 1 || all[0].Status != "TERMINATING" || !strings.HasPrefix(all[0].ID, "i-") || all[0].IPAddress != "192.0.2.1" {
			t.Errorf("%+v", all)
		}
		_, err := h.create(create(h.fleet.ID, ""))
		h.is(err, messages.FleetCapacityExceeded)
		if e := wanted[[]messages.FleetEvent](h.host, catalog.Events{ID: h.fleet.ID}); e[len(e)-1].Code != "FLEET_SCALING_EVENT" {
			t.Errorf("%+v", e[len(e)-1])
		}
	})
}

func TestAFleetWithoutAScriptHasProcessGroupsToo(t *testing.T) {
	withResources(t, func(h *resources) {
		groups := func(n int) {
			t.Helper()
			wanted[*messages.Fleet](h.host, messages.UpdateCapacity{FleetID: actorstest.Small, Desired: &n, Max: pointer(2)})
		}
		groups(2)
		first, second := h.must(create(actorstest.Small, "")), h.must(create(actorstest.Small, ""))
		_, err := h.create(create(actorstest.Small, ""))
		h.is(err, messages.FleetCapacityExceeded)
		groups(1)
		if a, b := h.game(first.ID).Status, h.game(second.ID).Status; a != messages.GameSessionActive || b != messages.GameSessionTerminated {
			t.Errorf("they are %v and %v", a, b)
		}
		h.restart() // the configuration does not set the number of groups
		if g := h.use(actorstest.Small, "").Groups; g != (messages.Groups{Desired: 1, Max: 2}) {
			t.Errorf("%+v", g)
		}
	})
}

func TestResourcesOfTheAPIAreBounded(t *testing.T) {
	withResources(t, func(h *resources) {
		var err error
		for n := 0; err == nil && n <= 1000; n++ {
			_, err = request[*messages.Alias](h.host, messages.CreateAlias{Name: "a", Message: "m"})
		}
		h.is(err, messages.LimitExceeded)
		err = nil
		for n := 0; err == nil && n <= 1000; n++ {
			_, err = request[messages.Location](h.host, messages.Location{Name: fmt.Sprintf("custom-%d", n)})
		}
		h.is(err, messages.LimitExceeded)
		many := make([]string, 100)
		for n := range many {
			many[n] = fmt.Sprintf("custom-%d", n)
		}
		_, err = request[*messages.Fleet](h.host, catalog.AddLocations{FleetID: h.fleet.ID, Locations: many})
		h.is(err, messages.LimitExceeded)
	})
}

func TestUtilizationCountsPlayers(t *testing.T) {
	actorstest.Run(t, nil, func(w *world) {
		id := w.Create(new(game))
		w.Player(id)
		w.Seat(id) // RESERVED player sessions do not count here (D-209)
		uses, err := w.System.FleetUse(context.Background(), messages.FleetUseQuery{FleetIDs: []messages.FleetID{actorstest.Fleet, "fleet-none", actorstest.Fleet}})
		if err != nil || len(uses) != 1 || uses[0].Players != 1 || uses[0].GameSessions != 1 || uses[0].PlayersMax != w.Game(id).MaxPlayers {
			t.Errorf("%+v, %v", uses, err)
		}
	})
}

func TestLocationsComeAndGo(t *testing.T) {
	withResources(t, func(h *resources) {
		add := func(names ...string) error {
			_, err := request[*messages.Fleet](h.host, catalog.AddLocations{FleetID: h.fleet.ID, Locations: names})
			return err
		}
		remove := func(names ...string) error {
			_, err := request[*messages.Fleet](h.host, catalog.RemoveLocations{FleetID: h.fleet.ID, Locations: names})
			return err
		}
		h.is(add("mars"), messages.InvalidRequest)
		h.is(add("custom-attic", actorstest.Away), messages.Conflict)
		h.is(remove(actorstest.Home), messages.InvalidRequest)
		h.is(remove("mars"), messages.NotFound)
		if err := add("custom-attic"); err != nil {
			t.Fatal(err)
		}
		q := create(h.fleet.ID, "")
		q.Location = "custom-attic"
		there, here := h.must(q), h.must(create(h.fleet.ID, ""))
		if !strings.Contains(string(there.ID), "/custom-attic/") {
			t.Errorf("its id is %s", there.ID)
		}
		_, err := request[stage.None](h.host, catalog.DropLocation{Name: "custom-attic"})
		h.is(err, messages.InvalidRequest)
		if err := remove("custom-attic", actorstest.Away); err != nil {
			t.Fatal(err)
		}
		if h.game(there.ID).Status != messages.GameSessionTerminated || h.game(here.ID).Status != messages.GameSessionActive {
			t.Error("the wrong game session ended")
		}
		_, err = h.create(q)
		h.is(err, messages.InvalidRequest)
		if got := h.fleets()[h.fleet.ID].Locations; !slices.Equal(got, []string{actorstest.Home}) {
			t.Errorf("it is in %v", got)
		}
		wanted[stage.None](h.host, catalog.DropLocation{Name: "custom-attic"})
	})
}

func TestPortsAreAddedAndRemoved(t *testing.T) {
	withResources(t, func(h *resources) {
		p := func(n int) messages.Port { return messages.Port{From: n, To: n, Range: "::/0", Protocol: "TCP"} }
		change := func(add, remove []messages.Port) error {
			_, err := request[*messages.Fleet](h.host, messages.UpdatePorts{FleetID: h.fleet.ID, Add: add, Remove: remove})
			return err
		}
		h.is(change(nil, []messages.Port{p(1)}), messages.InvalidRequest)
		h.is(change([]messages.Port{p(1), p(1)}, nil), messages.Conflict)
		h.is(change(h.fleet.Ports, nil), messages.Conflict)
		var many []messages.Port
		for n := range 50 {
			many = append(many, p(n+1))
		}
		h.is(change(many, nil), messages.LimitExceeded)
		if err := change(many, h.fleet.Ports); err != nil {
			t.Error(err)
		}
		if got := h.fleets()[h.fleet.ID].Ports; len(got) != 50 {
			t.Errorf("%d ports", len(got))
		}
		_, err := request[*messages.Fleet](h.host, messages.CreateFleet{ScriptID: h.script.ID, Locations: []string{actorstest.Home}, Ports: []messages.Port{p(1), p(1)}})
		h.is(err, messages.Conflict)
	})
}

func TestADeletingFleetIsNotChanged(t *testing.T) {
	withResources(t, func(h *resources) {
		wanted[stage.None](h.host, catalog.DropFleet{ID: h.fleet.ID})
		writes := h.writes()
		for _, name := range []string{"UpdateFleet", "UpdateRuntime", "UpdateCapacity", "UpdatePorts", "AddLocations", "RemoveLocations"} {
			t.Log(name)
			h.is(writes[name](), messages.InvalidFleetStatus)
		}
		h.is(writes["DeleteFleet"](), messages.NotFound) // it had no game sessions, so it is TERMINATED
		_, err := request[*messages.Alias](h.host, messages.CreateAlias{Name: "x", FleetID: h.fleet.ID})
		h.is(err, messages.InvalidRequest)
		_, err = request[*messages.Alias](h.host, messages.UpdateAlias{ID: actorstest.Alias, Routing: &messages.Routing{FleetID: h.fleet.ID}})
		h.is(err, messages.NotFound)
		q := create("", "")
		q.AliasID = h.alias.ID // the alias is not deleted with its fleet (service-api.md 2.4)
		_, err = h.create(q)
		h.is(err, messages.InvalidFleetStatus)
	})
}

func TestTagsAreBounded(t *testing.T) {
	withResources(t, func(h *resources) {
		set := make(map[string]string)
		for n := range messages.TagsMax {
			set[strings.Repeat("x", n+1)] = ""
		}
		q := messages.UpdateTags{Resource: messages.Resource{Kind: "fleet", ID: string(h.fleet.ID)}, Set: set}
		_, err := request[map[string]string](h.host, q) // together with the tag that it has
		h.is(err, messages.TaggingFailed)
		q.Remove = []string{"k"}
		if now := wanted[map[string]string](h.host, q); len(now) != messages.TagsMax {
			t.Errorf("%d tags", len(now))
		}
		for _, r := range []messages.Resource{{Kind: "fleet", ID: "fleet-none"}, {Kind: "gamesession", ID: "x"}, {Kind: "location", ID: actorstest.Home}, {}} {
			_, err := request[map[string]string](h.host, r)
			h.is(err, messages.NotFound)
		}
	})
}

func TestNewRoomIsReported(t *testing.T) {
	withResources(t, func(h *resources) {
		h.registry.Tell(fleet.WatchRoom{Notify: h.notify})
		if err := h.groups(actorstest.Away, 2, 2); err != nil {
			t.Fatal(err)
		}
		if got := told[fleet.RoomFor](h.host); !slices.Contains(got, fleet.RoomFor{FleetID: h.fleet.ID, Location: actorstest.Away}) {
			t.Errorf("told %v", got)
		}
		wanted[*messages.Fleet](h.host, catalog.AddLocations{FleetID: h.fleet.ID, Locations: []string{"custom-attic"}})
		if got := told[fleet.RoomFor](h.host); !slices.Contains(got, fleet.RoomFor{FleetID: h.fleet.ID, Location: "custom-attic"}) {
			t.Errorf("told %v", got)
		}
	})
}
