package watchdog

import (
	"testing"
	"testing/synctest"
	"time"
)

// An owner that has created more in large pieces than it may hold is measured at once, even during a rest of
// the measurements. It is ended if it holds too much. RL-210.
func TestWhatIsMadeInLargePiecesIsMeasuredAtOnce(t *testing.T) {
	for _, c := range []struct {
		name         string
		held, piece  int64
		pieces, want int // want: piece at which the owner is measured; 0 if it is not
		verdict      Verdict
	}{
		{"garbage", mib, 8 * mib, 9, 9, InTime}, {"kept", 65 * mib, 8 * mib, 100, 9, Interrupted},
		{"little", mib, 8 * mib, 8, 0, InTime}, {"a quarter", 63 * mib, 4 * mib, 16, 0, InTime},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h heap
				d := Watchdog{heapFake: h.read}
				o := ownerIn(t, &d)
				defer o.Release()
				o.held = c.held
				d.mu.Lock()
				o.worker.weigher.rested = time.Hour // a long measurement of another owner was just made
				d.mu.Unlock()
				o.Begin()
				at := 0
				for n := range c.pieces {
					if o.Made(c.piece); o.measured == 1 && at == 0 {
						at = n + 1
					}
				}
				if _, v := o.End(); v != c.verdict || at != c.want || c.verdict == Interrupted && o.measured != 1 {
					t.Errorf("%v, measured %d times, first after %d pieces", v, o.measured, at)
				}
			})
		})
	}
}

// An owner that holds almost its limit is measured once per quarter of the limit that it creates, not for
// each piece.
func TestWhoHoldsNearlyAllIsNotMeasuredForEachPiece(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heap
		d := Watchdog{heapFake: h.read}
		o := ownerIn(t, &d)
		defer o.Release()
		o.held = 63 * mib
		o.Begin()
		for range 64 * 10 {
			o.Made(mib)
		}
		if _, v := o.End(); v != InTime || o.measured < 10 || o.measured > 4*10 {
			t.Error(v, o.measured)
		}
	})
}

// The measurement waits until that of another owner is finished, but not longer than until the call must end.
func TestWhoHasMadeTooMuchWaitsForItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heap
		d := Watchdog{heapFake: h.read}
		other := ownerIn(t, &d)
		defer other.Release()
		other.takes = 300 * time.Millisecond
		o := ownerIn(t, &d)
		defer o.Release()
		o.held = 65 * mib
		go func() {
			other.Begin()
			other.Made(65 * mib)
			other.End()
		}()
		synctest.Wait()
		begun := time.Now()
		o.Begin()
		if o.Made(65 * mib); o.measured != 1 || time.Since(begun) < 250*time.Millisecond {
			t.Error(o.measured, time.Since(begun))
		}
		if _, v := o.End(); v != Interrupted {
			t.Error(v)
		}
		synctest.Wait() // the first call of other has ended
		last := d.Watch(Options{MemoryMax: 64 * mib, Held: func(int64) int64 { t.Error("measured"); return 0 }, Limit: 100 * time.Millisecond, Interrupt: func(string) {}})
		defer last.Release()
		go func() {
			other.Begin()
			other.Made(65 * mib)
			other.End()
		}()
		synctest.Wait()
		begun = time.Now()
		last.Begin()
		last.Made(65 * mib)
		if _, v := last.End(); v != Interrupted || time.Since(begun) > 150*time.Millisecond {
			t.Error(v, time.Since(begun))
		}
		last.Made(65 * mib) // outside of a call
		time.Sleep(time.Second)
	})
}

// An owner with measureDue set is measured at its next Pause, not only when the clock is read again.
func TestWhoIsDueIsMeasuredAtTheNextPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heap
		d := Watchdog{heapFake: h.read}
		o := ownerIn(t, &d)
		defer o.Release()
		for _, look := range []func(){o.Pause, o.MeasureIfDue, func() { o.Made(0) }} {
			o.measured = 0
			o.Begin()
			for range 4 * clockEvery {
				o.Pause()
			}
			look()
			if o.measured != 0 {
				t.Error("it is measured without being due")
			}
			h.grow(65*mib, 0)
			for !o.measureDue.Load() {
				time.Sleep(memoryPeriod)
			}
			if look(); o.measured != 1 {
				t.Error(o.measured)
			}
			o.End()
			time.Sleep(2 * time.Second)
		}
	})
}
