package watchdog

import (
	"testing"
	"testing/synctest"
	"time"
)

// Who has made more in large pieces than it may hold is measured there and then, whatever rests, and ends if it holds too much.
// RL-210.
func TestWhatIsMadeInLargePiecesIsMeasuredAtOnce(t *testing.T) {
	for _, c := range []struct {
		name         string
		held, piece  int64
		pieces, want int // until it is measured
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
				o.worker.weigher.rested = time.Hour // others were measured for long
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

// One that holds nearly all it may is measured for each quarter more that it makes, and not for each piece.
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

// It waits until another one has been measured, and no longer than until its call is to end.
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
		synctest.Wait() // other's first call has ended
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
		last.Made(65 * mib) // outside of any call
		time.Sleep(time.Second)
	})
}

// Whoever is due is measured at its next pause, not when the clock is looked at again.
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
