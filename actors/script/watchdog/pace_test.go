package watchdog

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// work makes a call of w work for as long as the clock says and pause every 100 us, up
// to the end of d, and returns for how long it worked. Time passes in sleeps only, so
// that work is a sleep, too.
func work(w *Watch, d time.Duration) (worked time.Duration) {
	for begun := time.Now(); time.Since(begun) < d && w.since.Load() >= oldest; w.Pause() {
		time.Sleep(100 * time.Microsecond)
		worked += 100 * time.Microsecond
	}
	return worked
}

// crowded makes a watch that is not alone, with as many long calls beside it that the
// cores are contended, and tells how to end that.
func crowded(d *Dog, o Options) (w *Watch, done func()) {
	w, other := d.Watch(o), d.Watch(Options{})
	n := int32(max(0, runtime.GOMAXPROCS(0)/2-1))
	d.long.Add(n)
	return w, func() { d.long.Add(-n); w.Release(); other.Release() }
}

func TestALongCallIsPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Dog
		told := 0
		w, done := crowded(&d, Options{Long: func() { told++ }})
		defer done()
		for range 2 { // each call by itself
			told = 0
			begun := time.Now()
			w.Begin()
			if worked := work(w, 2*time.Millisecond); worked != 2*time.Millisecond || told != 1 {
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

func TestACallThatHarmsNobodyIsNotPaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Dog
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
		var d Dog
		w, done := crowded(&d, Options{Long: func() { t.Error("a short call is long") }})
		defer done()
		for range 1000 {
			w.Begin()
			work(w, longAfter-100*time.Microsecond)
			if took, _ := w.End(); took >= longAfter {
				t.Fatal(took)
			}
			w.Pause() // outside of any call
		}
	})
}

func TestAPacedCallIsInterruptedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Dog
		interrupts := 0
		w, done := crowded(&d, Options{Limit: 2 * time.Second, Interrupt: func(string) { interrupts++ }})
		defer done()
		begun := time.Now()
		w.Begin()
		for w.since.Load() >= oldest {
			time.Sleep(slice)
			w.pacer.heap = -1 << 40
			w.pacer.allocated -= 1 << 40 // it would rest for half a day
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
	var d Dog
	w, done := crowded(&d, Options{})
	defer done()
	var hoard [][]byte
	w.Begin()
	_, before := w.pacer.read()
	for begun := time.Now(); time.Since(begun) < 500*time.Millisecond; {
		hoard = append(hoard, make([]byte, 16<<10))
		w.Pause()
	}
	w.End()
	// Until grownMax it may, and what is shared with other tests counts as well.
	if _, now := w.pacer.read(); now-before > grownMax+48<<20 {
		t.Errorf("%d MiB", (now-before)>>20)
	}
	if len(hoard) == 0 {
		t.Error("nothing was allocated")
	}
}

func BenchmarkPause(b *testing.B) {
	var d Dog
	w := d.Watch(Options{})
	defer w.Release()
	w.Begin()
	for b.Loop() {
		w.Pause()
	}
	w.End()
}
