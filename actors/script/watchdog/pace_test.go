package watchdog

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// work makes a call of w that works for d and calls Pause after every half slice. It returns how long the
// call worked, without the rests. Virtual time passes only in sleeps, so the work is a sleep, too.
func work(w *Watch, d time.Duration) (worked time.Duration) {
	for begun := time.Now(); time.Since(begun) < d && w.since.Load() >= oldest; w.Pause() {
		time.Sleep(slice / 2)
		worked += slice / 2
	}
	return worked
}

// crowded returns a watch whose calls are paced: there is another watch, and enough long calls are in
// progress. done ends that.
func crowded(d *Watchdog, o Options) (w *Watch, done func()) {
	w, other := d.Watch(o), d.Watch(Options{})
	n := int32(max(0, runtime.GOMAXPROCS(0)/2-1))
	d.long.Add(n)
	return w, func() { d.long.Add(-n); w.Release(); other.Release() }
}

func TestALongCallIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
		told := 0
		w, done := crowded(&d, Options{Long: func() { told++ }})
		defer done()
		for range 2 { // each call is paced separately
			told = 0
			begun := time.Now()
			w.Begin()
			if worked := work(w, longAfter); worked != longAfter || told != 1 {
				t.Error("a short call:", worked, told)
			}
			for _, c := range []struct {
				until     time.Duration
				low, high float64
			}{{100 * time.Millisecond, 0.45, 0.55}, {time.Second, 0.2, 0.3}, {5 * time.Second, 0.14, 0.2}} {
				from := time.Now()
				worked := work(w, c.until-from.Sub(begun))
				if share := float64(worked) / float64(time.Since(from)); share < c.low || share > c.high {
					t.Errorf("until %v: a share of %.2f", c.until, share)
				}
			}
			if took, v := w.End(); v != InTime || told != 1 || took < 5*time.Second {
				t.Error(took, v, told)
			}
			if n := d.long.Load(); int(n) != max(0, runtime.GOMAXPROCS(0)/2-1) {
				t.Error(n, "long calls")
			}
		}
	})
}

// A call that never calls Pause rests after each large piece that it creates.
func TestLargePiecesArePaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
		w, done := crowded(&d, Options{})
		defer done()
		w.Begin()
		begun := time.Now()
		for range 20 {
			time.Sleep(2 * time.Millisecond) // simulates work
			w.Made(LargePiece)
		}
		if took, v := w.End(); v != InTime || time.Since(begun) < 70*time.Millisecond {
			t.Errorf("40 ms of work were over after %v: %v, %v", time.Since(begun), v, took)
		}
	})
}

func TestACallThatHarmsNobodyIsNotPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
		w := d.Watch(Options{})
		defer w.Release()
		w.Begin()
		if worked := work(w, time.Second); worked < 999*time.Millisecond {
			t.Error("alone, it worked", worked)
		}
		other := d.Watch(Options{})
		if worked := work(w, time.Second); worked > 500*time.Millisecond && runtime.GOMAXPROCS(0) <= 2 {
			t.Error("beside another one, it worked", worked)
		}
		other.Release()
		if worked := work(w, time.Second); worked < 999*time.Millisecond {
			t.Error("alone again, it worked", worked)
		}
		w.End()
	})
}

func TestShortCallsAreNeverPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
		w, done := crowded(&d, Options{Long: func() { t.Error("a short call is long") }})
		defer done()
		for range 1000 {
			w.Begin()
			work(w, longAfter-slice)
			if took, _ := w.End(); took >= longAfter {
				t.Fatal(took)
			}
			w.Pause() // outside of a call
		}
	})
}

func TestAPacedCallIsInterruptedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
		interrupts := 0
		w, done := crowded(&d, Options{Limit: 2 * time.Second, Interrupt: func(string) { interrupts++ }})
		defer done()
		begun := time.Now()
		w.Begin()
		for w.since.Load() >= oldest {
			time.Sleep(slice)
			w.pacer.allocated -= 1 << 40 // without the interrupt, the rest would take years
			w.Pause()
		}
		if _, v := w.End(); v != Interrupted || time.Since(begun) > 2*time.Second+2*period+nap {
			t.Error(v, time.Since(begun))
		}
		if synctest.Wait(); interrupts != 1 {
			t.Error(interrupts)
		}
	})
}

func TestALongCallGrowsSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
		w, done := crowded(&d, Options{})
		defer done()
		var hoard [][]byte
		w.Begin()
		for begun := time.Now(); time.Since(begun) < 500*time.Millisecond; w.Pause() {
			hoard = append(hoard, make([]byte, 64<<10))
			time.Sleep(slice / 2) // simulates work
		}
		w.End()
		if n := len(hoard) * 64 << 10; n < freeBytes || n > freeBytes+16<<20 { // without rests for allocated bytes, it would be 187 MiB
			t.Errorf("%d MiB", n>>20)
		}
	})
}

func TestACallPaysForWhatItAllocates(t *testing.T) {
	const mib = 1 << 20
	t.Run("alone", func(t *testing.T) {
		var a account
		for _, c := range []struct{ allocated, owed time.Duration }{
			{freeBytes - mib, 0}, {mib / 2, 0}, {mib, mib}, {freeBytes, 2 * freeBytes}, {2 * freeBytes, 4 * 2 * freeBytes}, {0, 0},
		} {
			if owed := a.pay(int64(c.allocated), slice); owed != c.owed*perByte {
				t.Errorf("%d bytes: rests %v", c.allocated, owed)
			}
			a.rested += slice
		}
	})
	t.Run("beside others", func(t *testing.T) { // others continue to allocate while the call rests
		var a account
		for range 1000 {
			if owed := a.pay(3*mib, slice); owed > 0 {
				t.Fatal("rests", owed)
			}
			a.rested += 2 * slice
			a.inRest += 6 * mib
		}
	})
	t.Run("beside a burst", func(t *testing.T) { // a burst of others does not excuse the call's own allocations
		var a account
		owed := time.Duration(0)
		for n := range int64(1000) {
			owed += a.pay(mib, slice)
			a.rested += slice
			if n == 100 {
				a.inRest += 100 * mib
			}
		}
		if a.own < 800*mib || owed < 10*time.Minute {
			t.Errorf("%d MiB, rests %v", a.own/mib, owed)
		}
	})
}
