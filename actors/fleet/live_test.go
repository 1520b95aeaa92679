package fleet_test

import (
	"slices"
	"testing"
	"time"

	"troupe/actors/actorstest"
	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

// live returns the ids of the ACTIVE game sessions.
func live(h *host, q messages.FindGameSessions) (ids []messages.GameSessionID) {
	h.Helper()
	q.Status = messages.GameSessionActive
	for _, g := range assert.Value(h.games(q))(h) {
		ids = append(ids, g.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestLiveGameSessionsAreThoseThatAreActiveAndStored(t *testing.T) {
	hosted(t, nil, func(h *host) {
		all := messages.FindGameSessions{AliasID: actorstest.Alias}
		var want []messages.GameSessionID
		for range 200 { // the list is rebuilt after many ends
			first, second := h.must(create(actorstest.Fleet, "")), h.must(create(actorstest.Fleet, ""))
			want = append(want, second.ID)
			slices.Sort(want)
			h.stop(first.ID)
			if got := live(h, all); !slices.Equal(got, want) {
				h.Fatalf("%d of %d", len(got), len(want))
			}
		}
		h.disk.Break(true)
		if _, err := h.create(create(actorstest.Fleet, "")); err == nil {
			h.Error("it cannot have been stored")
		}
		if got := live(h, all); !slices.Equal(got, want) {
			h.Errorf("one that was not stored is shown: %d of %d", len(got), len(want))
		}
	})
}

// All game sessions end before the registry learns about the first end, because an answer blocks the registry.
func TestAnyNumberOfGameSessionsMayEndAtOnce(t *testing.T) {
	hosted(t, nil, func(h *host) {
		for _, n := range []int{257, 600} {
			for range n {
				h.must(create(actorstest.Fleet, ""))
			}
			h.desired(0, func() { time.Sleep(time.Second / 2) })
			if got := live(h, messages.FindGameSessions{FleetID: actorstest.Fleet}); len(got) != 0 {
				h.Errorf("%d of %d are shown, and all have ended", len(got), n)
			}
			h.desired(1, func() {})
		}
	})
}

// desired sets the fleet's number of process groups in its home location and waits for the effects.
func (h *host) desired(n int, answered func()) {
	h.Helper()
	messages.Send(h.registry, messages.UpdateCapacity{FleetID: actorstest.Fleet, Location: actorstest.Home, Desired: &n}, func(_ *messages.Fleet, err error) {
		if err != nil {
			h.Error(err)
		}
		answered()
	})
	stagetest.Pass(time.Second)
}
