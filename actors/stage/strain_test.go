package stage

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
)

// Strain begins when the pressure is too high in two stretches, ends when the messages are clearly fewer, and is interrupted less
// and less often while it is needed.
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
	// until is how long strain lasts until it is interrupted
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
	tell(0.3, 1000, true) // the relief
	tell(0.2, 760, true)  // not clearly fewer
	tell(1.1, 700, true)  // clearly fewer, because the machine does not get further
	tell(0.2, 740, false) // clearly fewer
	tell(1.4, 740, false) // one stretch is none
	tell(0.1, 740, false)
	tell(1.2, 740, false)
	tell(1.2, 1000, true)
	for _, want := range []time.Duration{5, 10, 20, 40, 40} {
		if got := until(0.4, 2000); got != want*time.Second {
			t.Fatalf("interrupted after %v, want %v s", got, want)
		}
		tell(1.1, 2000, true) // the interruption shows that it is needed
	}
	tell(0.4, 1400, false) // fewer than at the last interruption
	tell(1.2, 1400, false)
	tell(1.2, 1400, true)
	if got := until(0.4, 1400); got != 5*time.Second {
		t.Fatalf("interrupted after %v", got)
	}
	tell(0.5, 1400, false) // the interruption shows that it is not
	tell(0.5, 1400, false)
}

// A flush that goes on counts as far as it has come: one that takes several stretches does not count in the last of them as
// more than the time that has passed.
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
