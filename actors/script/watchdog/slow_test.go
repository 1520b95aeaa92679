package watchdog

import (
	"testing"
	"testing/synctest"
	"time"
)

// Options.Slow is called once for a call that takes so long that it is probably a mistake, while the call is
// running.
func TestASlowCallIsToldOfOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
		var told []time.Duration
		var begun time.Time
		w := d.Watch(Options{Slow: func() { told = append(told, time.Since(begun)) }})
		defer w.Release()
		for _, took := range []time.Duration{SlowAfter - time.Millisecond, 3 * SlowAfter, SlowAfter} {
			begun = time.Now()
			w.Begin()
			for time.Since(begun) < took {
				time.Sleep(time.Millisecond)
				for range clockEvery + 1 {
					w.Pause()
				}
			}
			w.End()
		}
		if len(told) != 2 || told[0] != SlowAfter || told[1] != SlowAfter {
			t.Error(told)
		}
	})
}
