package placement

import (
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/messages"
)

func (w *world) listed(q messages.PlacementList) []messages.PlacementState {
	w.t.Helper()
	found, err := request[messages.PlacementList, []messages.PlacementState](w, q)
	assert.NoError(w.t, err)
	return found
}

// An operator asks why a placement is waiting. Each candidate of its queue must have a reason.
func TestAListSaysWhyAPlacementWaits(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A us-east-1", "B us-west-2", "C eu-west-1")
		w.queue(messages.Queue{
			Timeout: 2 * time.Minute, Destinations: []string{"fleet/A", "fleet/B", "fleet/C"}, AllowedLocations: []string{"us-east-1", "us-west-2"},
			Policies: []messages.LatencyPolicy{policy(80, 30*time.Second)},
		})
		w.placed(messages.StartPlacement{ID: "p", Latencies: latenciesOf(t, "ann us-east-1 120", "ann us-west-2 40")})
		synctest.Wait()
		check := func(wants ...string) {
			t.Helper()
			all := w.listed(messages.PlacementList{Limit: 10})
			if len(all) != 1 || all[0].TimesOut.Sub(all[0].Started) != 2*time.Minute {
				t.Fatalf("%+v", all)
			}
			for _, want := range wants {
				if !strings.Contains(all[0].Waits, want) {
					t.Errorf("%q does not say %q", all[0].Waits, want)
				}
			}
		}
		check("us-east-1 has a player with 120 ms, and 80 ms are allowed for another 30 s", "us-west-2 is full", "eu-west-1 is not among the queue's allowed locations")
		time.Sleep(31 * time.Second)
		check("us-east-1 is full")
		w.free("B/us-west-2", 1)
		synctest.Wait()
		if all := w.listed(messages.PlacementList{Limit: 10}); all[0].Status != messages.PlacementFulfilled || !strings.Contains(all[0].Waits, "no room that it may use, ") || !all[0].TimesOut.IsZero() {
			t.Errorf("%+v", all[0])
		}
	})
}

// The reason why an ended placement was waiting remains available.
func TestAnEndedPlacementSaysWhyItWaited(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A us-east-1")
		w.queue(messages.Queue{Timeout: time.Minute, Destinations: []string{"fleet/A"}})
		w.placed(messages.StartPlacement{ID: "late"})
		w.placed(messages.StartPlacement{ID: "stopped"})
		synctest.Wait()
		assert.OK(request[messages.StopPlacement, *messages.Placement](w, messages.StopPlacement{ID: "stopped"}))(t)
		stagetest.Pass(61 * time.Second)
		w.free("A/us-east-1", 1)
		w.placed(messages.StartPlacement{ID: "at once"})
		synctest.Wait()
		for id, want := range map[messages.PlacementID]string{"late": "TIMED_OUT: A in us-east-1 is full", "stopped": "CANCELLED: A in us-east-1 is full", "at once": "FULFILLED: "} {
			all := w.listed(messages.PlacementList{ID: id, Limit: 1})
			if len(all) != 1 {
				t.Fatalf("%s is not known", id)
			}
			if got := all[0].Status.String() + ": " + all[0].Waits; got != want {
				t.Errorf("%s: %q, want %q", id, got, want)
			}
		}
	})
}

func TestAListIsBoundedAndFiltered(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A us-east-1")
		w.queue(messages.Queue{Timeout: time.Minute, Destinations: []string{"fleet/A"}})
		for _, id := range []messages.PlacementID{"a", "b", "c"} {
			w.placed(messages.StartPlacement{ID: id})
			time.Sleep(time.Second)
		}
		assert.OK(w.cancel("b"))(t)
		ids := func(q messages.PlacementList) (s string) {
			for _, p := range w.listed(q) {
				s += string(p.Request.ID)
			}
			return s
		}
		for _, test := range []struct {
			q    messages.PlacementList
			want string
		}{
			{messages.PlacementList{Limit: 10}, "cba"},
			{messages.PlacementList{Limit: 2}, "cb"},
			{messages.PlacementList{Limit: 10, Status: messages.PlacementPending}, "ca"},
			{messages.PlacementList{Limit: 10, Status: messages.PlacementCancelled}, "b"},
			{messages.PlacementList{Limit: 10, Queue: "other"}, ""},
		} {
			if got := ids(test.q); got != test.want {
				t.Errorf("%+v: %q, want %q", test.q, got, test.want)
			}
		}
	})
}

// Placements are counted while they wait, and by their outcome. A crash and a restart do not change the counts.
func TestPlacementsAreCounted(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		n := w.stage.Count
		w.fleets("W us-west-2")
		w.queue(messages.Queue{Destinations: []string{"fleet/W"}, Timeout: time.Minute})
		for _, id := range []messages.PlacementID{"a", "b", "c"} {
			w.placed(messages.StartPlacement{ID: id})
		}
		synctest.Wait() // they are answered before they are counted
		assert.Equal(t, "wait, of 3", n.PlacementsWaiting.Load(), 3)
		assert.OK(w.cancel("a"))(t)
		w.crash()
		synctest.Wait()
		assert.Equal(t, "wait, of 2", n.PlacementsWaiting.Load(), 2)
		time.Sleep(20 * time.Second)
		w.free("W/us-west-2", 1)
		time.Sleep(time.Minute)
		w.want("b", messages.PlacementFulfilled)
		w.want("c", messages.PlacementTimedOut)
		ends := map[string]int64{}
		n.Placements.Values(func(outcome string, n int64) { ends[outcome] = n })
		count, sum, _ := n.PlacementLatency.Snapshot()
		if want := map[string]int64{"fulfilled": 1, "cancelled": 1, "timed_out": 1, "failed": 0}; !maps.Equal(ends, want) || n.PlacementsWaiting.Load() != 0 {
			t.Errorf("%v, %d wait", ends, n.PlacementsWaiting.Load())
		}
		if count != 1 || sum < 20 || sum > 22 {
			t.Errorf("%d placements in %v s", count, sum)
		}
	})
}
