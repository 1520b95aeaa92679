package fleet_test

import (
	"slices"
	"testing"

	"troupe/actors/actorstest"
	"troupe/actors/fleet/catalog"
	"troupe/actors/stage"
	"troupe/messages"
)

// send sends a request without waiting for its answer.
func send[A, Q any](h *resources, q Q) {
	h.registry.Tell(stage.Request[Q, A]{Request: q, Reply: func(A, error) {}})
}

// When the store refuses two changes of one resource together, the API shows the stored record.
func TestChangesThatAreRefusedTogetherChangeNothing(t *testing.T) {
	withResources(t, func(h *resources) {
		before := h.state()
		for name, changes := range map[string]func(){
			"an alias": func() {
				send[*messages.Alias](h, messages.UpdateAlias{ID: h.alias.ID, Name: pointer("1")})
				send[*messages.Alias](h, messages.UpdateAlias{ID: h.alias.ID, Description: pointer("2")})
			},
			"an alias that is deleted": func() {
				send[*messages.Alias](h, messages.UpdateAlias{ID: h.alias.ID, Name: pointer("1")})
				send[stage.None](h, catalog.DropAlias{ID: h.alias.ID})
			},
			"a fleet": func() {
				send[*messages.Fleet](h, messages.UpdateFleet{FleetID: h.fleet.ID, Name: pointer("1")})
				send[*messages.Fleet](h, messages.UpdateFleet{FleetID: h.fleet.ID, Description: pointer("2")})
			},
			"a fleet's capacity": func() {
				send[*messages.Fleet](h, messages.UpdateCapacity{FleetID: h.fleet.ID, Location: actorstest.Away, Desired: pointer(2), Max: pointer(3)})
				send[*messages.Fleet](h, messages.UpdateFleet{FleetID: h.fleet.ID, Description: pointer("2")})
			},
			"a script": func() {
				send[catalog.Changed](h, catalog.ChangeScript{Request: messages.UpdateScript{ID: h.script.ID, Name: "1"}})
				send[catalog.Changed](h, catalog.ChangeScript{Request: messages.UpdateScript{ID: h.script.ID, Version: "2"}})
			},
		} {
			h.disk.set(errDisk)
			h.disk.hold()
			changes()
			_ = wanted[[]*messages.Alias](h.host, catalog.Aliases{}) // handled after the changes
			h.disk.release()
			h.disk.set(nil)
			h.same(name, h.state(), slices.Clone(before))
		}
	})
}
