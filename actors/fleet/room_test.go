package fleet_test

import (
	"context"
	"testing"

	"troupe/actors"
	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/messages"
)

// at returns a request for a game session in a location.
func at(fleet messages.FleetID, location string) messages.CreateGameSession {
	q := create(fleet, "")
	q.Location = location
	return q
}

func TestEachLocationHasTheWholeRuntimeConfiguration(t *testing.T) {
	scripted(t, nil, func(w *world, e *engine) {
		s := newScript(w, "main.js=one")
		f, err := messages.Do(context.Background(), w.System, messages.CreateFleet{
			ScriptID: s.ID, Runtime: processes("2 main.js"), Locations: []string{actorstest.Home, actorstest.Away, "custom-attic"}})
		noError(w, err)
		w.Pass(0)
		for _, location := range f.Locations {
			for range 2 {
				g, err := w.Try(at(f.ID, location), nil)
				noError(w, err)
				assert.Equal(t, "it is in", g.Location, location)
			}
			_, err := w.Try(at(f.ID, location), nil)
			w.IsError(err, messages.FleetCapacityExceeded)
		}
		end(w, &e.last().Game)
		_, err = w.Try(at(f.ID, actorstest.Home), nil)
		w.IsError(err, messages.FleetCapacityExceeded)
		_, err = w.Try(at(f.ID, "custom-attic"), nil)
		noError(w, err)
	})
}

func TestALocationBoundsAllFleetsTogether(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.Locations = []messages.Location{{Name: actorstest.Home}, {Name: actorstest.Away, GameSessionsMax: 2}}
		o.Fleet.Fleets = append(o.Fleet.Fleets, &messages.Fleet{
			ID: "fleet-other", Status: messages.FleetActive, Locations: []string{actorstest.Home, actorstest.Away}, GameSessionsMax: 5})
	}, func(w *world) {
		g := new(game)
		for id, h := range map[messages.FleetID]*game{actorstest.Fleet: new(game), "fleet-other": g} {
			_, err := w.Try(at(id, actorstest.Away), h)
			noError(w, err)
		}
		for _, id := range []messages.FleetID{actorstest.Fleet, "fleet-other"} {
			_, err := w.Try(at(id, actorstest.Away), nil)
			w.IsError(err, messages.FleetCapacityExceeded)
			_, err = w.Try(at(id, actorstest.Home), nil)
			noError(w, err)
		}
		free := func() map[messages.FleetRoom]bool {
			rooms, err := messages.Do(context.Background(), w.System, messages.FleetRoomQuery{})
			noError(w, err)
			all := make(map[messages.FleetRoom]bool)
			for _, r := range rooms {
				all[r] = true
			}
			return all
		}
		if all := free(); !all[messages.FleetRoom{FleetID: "fleet-other", Location: actorstest.Away, GameSessions: 1, Free: 0}] ||
			!all[messages.FleetRoom{FleetID: "fleet-other", Location: actorstest.Home, GameSessions: 1, Free: 4}] {
			w.Errorf("room of a full location: %v", all)
		}
		end(w, g)
		if all := free(); !all[messages.FleetRoom{FleetID: "fleet-other", Location: actorstest.Away, GameSessions: 0, Free: 1}] {
			w.Errorf("room of a location with room for one: %v", all)
		}
		_, err := w.Try(at(actorstest.Fleet, actorstest.Away), nil)
		noError(w, err)
	})
}

// A fleet that is scaled to 0 does not count as full, so that nobody is alerted because of it.
func TestAFleetThatIsScaledToZeroIsClosed(t *testing.T) {
	actorstest.Run(t, func(o *actors.Options) {
		o.Fleet.Fleets = append(o.Fleet.Fleets,
			&messages.Fleet{ID: "fleet-off", Status: messages.FleetActive, Locations: []string{actorstest.Home}, GameSessionsMax: 5,
				Groups: map[string]messages.Groups{actorstest.Home: {Max: 1}}},
			&messages.Fleet{ID: "fleet-going", Status: messages.FleetDeleting, Locations: []string{actorstest.Home}, GameSessionsMax: 5})
	}, func(w *world) {
		rooms, err := messages.Do(context.Background(), w.System, messages.FleetRoomQuery{})
		noError(w, err)
		closed := map[messages.FleetID]bool{}
		for _, r := range rooms {
			closed[r.FleetID] = r.Closed
		}
		if !closed["fleet-off"] || !closed["fleet-going"] || closed[actorstest.Fleet] {
			w.Errorf("%+v", rooms)
		}
	})
}

func noError(w *world, err error) {
	w.Helper()
	assert.NoError(w, err)
}
