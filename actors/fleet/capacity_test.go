package fleet_test

import (
	"context"
	"strings"
	"testing"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
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
		assert.NoError(t, h.groups("", 2, 3))
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
	})
}

func TestAScaleDownEndsUnprotectedGameSessions(t *testing.T) {
	withResources(t, func(h *resources) { // new game sessions of the fleet are protected at first
		assert.NoError(t, h.groups("", 2, 2))
		protected := h.must(create(h.fleet.ID, ""))
		wanted[*messages.Fleet](h.host, messages.UpdateFleet{FleetID: h.fleet.ID, Protection: new(false)})
		old, young := h.must(create(h.fleet.ID, "")), h.must(create(h.fleet.ID, ""))
		away := create(h.fleet.ID, "")
		away.Location = actorstest.Away
		elsewhere := h.must(away)
		assert.NoError(t, h.groups("", 1, 1))
		for g, want := range map[*messages.GameSession]messages.GameSessionStatus{
			protected: messages.GameSessionActive, old: messages.GameSessionActive, young: messages.GameSessionTerminated, elsewhere: messages.GameSessionActive,
		} {
			assert.Equal(t, "it is", h.game(g.ID).Status, want)
		}
		assert.NoError(t, h.groups("", 0, 1))
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
		if e := wanted[[]messages.FleetEvent](h.host, messages.FleetEventQuery{ID: h.fleet.ID}); e[len(e)-1].Code != "FLEET_SCALING_EVENT" {
			t.Errorf("%+v", e[len(e)-1])
		}
	})
}

func TestAFleetWithoutAScriptHasProcessGroupsToo(t *testing.T) {
	withResources(t, func(h *resources) {
		groups := func(n int) {
			t.Helper()
			wanted[*messages.Fleet](h.host, messages.UpdateCapacity{FleetID: actorstest.Small, Desired: &n, Max: new(2)})
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
		assert.Equal(t, "groups", h.use(actorstest.Small, "").Groups, (messages.Groups{Desired: 1, Max: 2}))
	})
}

func TestUtilizationCountsPlayers(t *testing.T) {
	actorstest.Run(t, nil, func(w *world) {
		id := w.Create(new(game))
		w.Player(id)
		w.Seat(id) // this use does not count RESERVED player sessions (D-209)
		uses, err := messages.Do(context.Background(), w.System, messages.FleetUseQuery{FleetIDs: []messages.FleetID{actorstest.Fleet, "fleet-none", actorstest.Fleet}})
		if err != nil || len(uses) != 1 || uses[0].Players != 1 || uses[0].GameSessions != 1 || uses[0].PlayersMax != w.Game(id).MaxPlayers {
			t.Errorf("%+v, %v", uses, err)
		}
	})
}

func TestALocationThatIsRemovedEndsItsGameSessions(t *testing.T) {
	withResources(t, func(h *resources) {
		wanted[*messages.Fleet](h.host, messages.AddFleetLocations{FleetID: h.fleet.ID, Locations: []string{"custom-attic"}})
		q := create(h.fleet.ID, "")
		q.Location = "custom-attic"
		there, here := h.must(q), h.must(create(h.fleet.ID, ""))
		if !strings.Contains(string(there.ID), "/custom-attic/") {
			t.Errorf("its id is %s", there.ID)
		}
		wanted[*messages.Fleet](h.host, messages.RemoveFleetLocations{FleetID: h.fleet.ID, Locations: []string{"custom-attic", actorstest.Away}})
		if h.game(there.ID).Status != messages.GameSessionTerminated || h.game(here.ID).Status != messages.GameSessionActive {
			t.Error("the wrong game session ended")
		}
		_, err := h.create(q)
		h.is(err, messages.InvalidRequest)
	})
}

func TestNewRoomIsReported(t *testing.T) {
	withResources(t, func(h *resources) {
		room := h.room()
		assert.NoError(t, h.groups(actorstest.Away, 2, 2))
		if !room() {
			t.Error("not told of a new process group")
		}
		room = h.room()
		wanted[*messages.Fleet](h.host, messages.AddFleetLocations{FleetID: h.fleet.ID, Locations: []string{"custom-attic"}})
		if !room() {
			t.Error("not told of a new location")
		}
	})
}
