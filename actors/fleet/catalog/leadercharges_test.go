package catalog

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
)

// limited creates a fleet. A limit of zero creations per period is none.
func (w *followers) limited(perPeriod int, period time.Duration) messages.FleetID {
	w.Helper()
	script := decided[*messages.Script](w, newScript("one"))
	q := messages.CreateFleet{Name: "f", ScriptID: script.ID, Runtime: processes(1), Locations: []string{home}}
	if perPeriod > 0 {
		q.CreatorLimit = &messages.CreatorLimit{PerPeriod: perPeriod, Period: period}
	}
	return decided[*messages.Fleet](w, q).ID
}

// charge sends a request to the Leader and returns its error at once.
func (w *followers) charge(q messages.ChargeCreator) (err error) {
	w.leader.Send(q, func(_ any, answer error) { err = answer })
	synctest.Wait()
	return err
}

func (w *followers) mustCharge(q messages.ChargeCreator) {
	w.Helper()
	if err := w.charge(q); err != nil {
		w.Fatalf("%+v: %v", q, err)
	}
}

// Creators on a fleet without a limit of its own have no records, so nothing is deleted.
func TestALeaderDeletesOnlyRecordsThatItStored(t *testing.T) {
	follow(t, func(w *followers) {
		open, fleet := w.limited(0, 0), w.limited(1, time.Minute)
		for i := range 300 {
			w.mustCharge(messages.ChargeCreator{FleetID: open, CreatorID: fmt.Sprint(i), For: "x"})
		}
		w.mustCharge(messages.ChargeCreator{FleetID: fleet, CreatorID: "eve", For: "x"})
		before := w.disk.Writes()
		stagetest.Pass(2*chargeSweepEvery + time.Second)
		assert.Equal(w, "changes", w.disk.Writes()-before, 1)
		assert.Equal(w, "records", len(w.disk.Records(store.Charge)), 0)
	})
}

// Many creators whose period is over are forgotten a hundred per second.
func TestALeaderSweepsChargesInTurns(t *testing.T) {
	follow(t, func(w *followers) {
		fleet := w.limited(1, time.Minute)
		w.lead(1) // which sweeps now and each minute
		for i := range 250 {
			w.mustCharge(messages.ChargeCreator{FleetID: fleet, CreatorID: fmt.Sprint(i), For: "x"})
		}
		assert.Equal(w, "records", len(w.disk.Records(store.Charge)), 250)
		stagetest.Pass(2*chargeSweepEvery - 1500*time.Millisecond)
		for _, left := range []int{250, 150, 50, 0} {
			assert.Equal(w, "records", len(w.disk.Records(store.Charge)), left)
			stagetest.Pass(chargeSweepAgain)
		}
	})
}
