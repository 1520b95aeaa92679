package catalog

import (
	"errors"
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

// A creator with a high limit creates once a second until it is refused, and later as often as it may, while
// the leader changes. It never exceeds its limit, and waits at most as long as the comment of chargeRecord says.
func TestTheRecordOfACreatorIsBounded(t *testing.T) {
	follow(t, func(w *followers) {
		const perPeriod, period = 3 * chargesKept, 100 * time.Minute
		fleet := w.limited(perPeriod, period)
		record := func() (text []byte) {
			for _, text = range w.disk.Records(store.Charge) {
			}
			return text
		}
		stagetest.Pass(300 * time.Millisecond) // stored times are rounded
		start := time.Now()
		var made []time.Time
		largest := 0
		attempt := func() (q messages.ChargeCreator, ok bool) {
			q = messages.ChargeCreator{FleetID: fleet, CreatorID: "eve", For: fmt.Sprint(len(made), time.Since(start))}
			now, first := time.Now(), len(made)-perPeriod
			switch err := w.charge(q); {
			case err != nil:
				if !errors.Is(err, &messages.Error{Code: messages.LimitExceeded}) {
					w.Fatal(err)
				}
				if first < 0 || now.Sub(made[first]) > period+period/chargeBuckets+time.Second {
					w.Fatalf("the creation after %v, of %d, is refused", now.Sub(start), len(made))
				}
			case first >= 0 && now.Sub(made[first]) < period:
				w.Fatalf("the creation after %v, of %d, is allowed", now.Sub(start), len(made))
			default:
				made, ok = append(made, now), true
				largest = max(largest, len(record()))
			}
			return q, ok
		}
		var newest messages.ChargeCreator
		for len(made) < perPeriod {
			newest, _ = attempt()
			stagetest.Pass(time.Second)
		}
		w.lead(1)
		w.mustCharge(newest) // counted once
		attempt()
		assert.Equal(w, "creations", len(made), perPeriod)
		newest.Refund = true
		w.mustCharge(newest)
		made = made[:perPeriod-1]
		attempt()
		assert.Equal(w, "creations after a refund", len(made), perPeriod)
		stagetest.Pass(period - time.Since(start) - 2200*time.Millisecond)
		for i := range 600 {
			for ok := true; ok; {
				_, ok = attempt()
			}
			if i%200 == 100 {
				w.lead(int64(i))
			}
			stagetest.Pass(time.Second)
		}
		if n := len(made); n < perPeriod+500 || n > perPeriod+600 {
			t.Errorf("%d creations", n)
		}
		if largest > 20_000 {
			t.Errorf("a record has %d bytes", largest)
		}
		stagetest.Pass(period + period/chargeBuckets + chargeSweepEvery + time.Second)
		assert.Equal(w, "records after the period", len(w.disk.Records(store.Charge)), 0)
	})
}

// The number of buckets is bounded however the period changes, and bound loses no creation.
func TestBucketsOfChangingPeriods(t *testing.T) {
	m, now, buckets := new(creations), time.Unix(1_000_000_000, 0), 0
	for i := range 20_000 {
		now = now.Add(100 * time.Millisecond)
		m.keep = 40 * time.Minute >> (i / 5000 % 3)
		m.made = append(m.made, creation{at: now})
		m.forgetAll(m.keep, now)
		was := m.count()
		if m.bound(); m.count() != was {
			t.Fatalf("%d creations, were %d", m.count(), was)
		}
		if len(m.made) > chargesKept || len(m.older) > 2*chargeBuckets {
			t.Fatalf("%d creations and %d buckets", len(m.made), len(m.older))
		}
		buckets = max(buckets, len(m.older))
	}
	if buckets < chargeBuckets/2 {
		t.Errorf("at most %d buckets", buckets)
	}
}
