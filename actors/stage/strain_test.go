package stage

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
)

// Strain begins when the average pressure of two stretches is too high. It ends when clearly fewer messages
// are handled. As long as it is needed, it is interrupted less and less often.
func TestStrain(t *testing.T) {
	t.Parallel()
	now := time.Now()
	var j strainJudge
	tell := func(pressure, rate float64, want bool) {
		t.Helper()
		stretch := strainStretch
		if j.probing {
			stretch = strainProbe
		}
		now = now.Add(stretch)
		if got := j.strained(now, pressure, rate); got != want {
			t.Fatalf("pressure %v, %v messages/s: %v, want %v", pressure, rate, got, want)
		}
	}
	// until returns how long strain lasts until it is interrupted.
	until := func(pressure, rate float64) time.Duration {
		from := now
		for j.on {
			now = now.Add(strainStretch)
			j.strained(now, pressure, rate)
		}
		return now.Sub(from)
	}
	tell(0.8, 1000, false)
	tell(1.3, 1000, true) // 1.05 on average
	tell(0.3, 1000, true) // strain reduces the pressure
	tell(0.2, 760, true)  // not clearly fewer
	tell(1.1, 700, true)  // clearly fewer, but only because the machine is overloaded
	tell(0.2, 740, false) // clearly fewer
	tell(1.4, 740, false) // a single stretch does not count
	tell(0.1, 740, false)
	tell(1.2, 740, false)
	tell(1.2, 1000, true)
	for _, want := range []time.Duration{5, 10, 20, 40, 40} {
		if got := until(0.4, 2000); got != want*time.Second {
			t.Fatalf("interrupted after %v, want %v s", got, want)
		}
		tell(1.1, 2000, true) // the interruption shows that strain is still needed
	}
	tell(0.4, 1400, false) // fewer than at the last interruption
	tell(1.2, 1400, false)
	tell(1.2, 1400, true)
	if got := until(0.4, 1400); got != 5*time.Second {
		t.Fatalf("interrupted after %v", got)
	}
	tell(0.5, 1400, false) // the interruption shows that strain is no longer needed
	tell(0.5, 1400, false)
}

// The elapsed part of a flush in progress counts as flushing time. So a flush that takes several stretches
// never counts for more than the length of a stretch.
func TestWorkDoneCountsTheFlushThatGoesOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &Shard{started: time.Now()}
		time.Sleep(time.Second)
		s.began = s.now()
		s.work.flushing = time.Second
		time.Sleep(strainStretch)
		assert.Equal(t, "of flushes", s.workDone().flushing, time.Second+strainStretch)
	})
}
