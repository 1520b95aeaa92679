//go:build faults

package placement

import (
	"testing"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/fault"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// A panic between two steps of a placement ends the current attempt but has no other effect.
func TestPanicAtAFailpoint(t *testing.T) {
	for _, point := range []string{fault.PlacementLaunched, fault.PlacementSeated} {
		bubble(t, nil, func(t *testing.T, w *world) {
			w.stage.Panics = 1
			w.fleets("A a-1")
			w.free("A/a-1", 5)
			w.queue(messages.Queue{Destinations: []string{"fleet/A"}})
			assert.NoError(t, fault.Set(point+"=panic:1"))
			defer func() { _ = fault.Set("") }()
			w.placed(messages.StartPlacement{ID: "p", Players: players("x")})
			stagetest.Pass(time.Second)
			p := w.want("p", messages.PlacementFulfilled)
			if live := w.live(); len(live) != 1 || live[0] != p.GameSessionID || fault.Hits(point) != 2 {
				t.Errorf("%s: %v live, %d hits", point, live, fault.Hits(point))
			}
		})
	}
}
