package watchdog

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestACallInTimeIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Dog
		w := d.Watch(Options{Limit: time.Second, Interrupt: func(string) { t.Error("interrupted") }})
		defer w.Release()
		for range 5 {
			w.Begin()
			time.Sleep(900 * time.Millisecond)
			if took, v := w.End(); v != InTime || took != 900*time.Millisecond {
				t.Error(took, v)
			}
			time.Sleep(time.Second) // it falls asleep
		}
	})
}

func TestALongCallIsInterruptedOnceThenStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Dog
		begun := time.Now()
		var interrupts, stucks []time.Duration
		w := d.Watch(Options{Limit: time.Second,
			Interrupt: func(reason string) {
				interrupts = append(interrupts, time.Since(begun))
				if !strings.Contains(reason, "1s") {
					t.Error(reason)
				}
			},
			Stuck: func(string) { stucks = append(stucks, time.Since(begun)) }})
		defer w.Release()
		other := d.Watch(Options{Limit: time.Minute, Interrupt: func(string) { t.Error("the other was interrupted") }})
		defer other.Release()
		other.Begin()
		w.Begin()
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if _, v := w.End(); v != Interrupted || len(interrupts) != 1 || interrupts[0] > time.Second+2*period {
			t.Error(v, interrupts)
		}
		begun = time.Now()
		w.Begin() // the next one is judged by itself
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if _, v := w.End(); v != Stuck || len(interrupts) != 2 || len(stucks) != 1 || stucks[0] > time.Second+Grace+3*period {
			t.Error(v, interrupts, stucks)
		}
		if _, v := other.End(); v != InTime {
			t.Error(v)
		}
	})
}

func TestGrowthDuringALongCallInterruptsIt(t *testing.T) {
	var d Dog
	var reason atomic.Value
	w := d.Watch(Options{MemoryMax: 64 << 20, Interrupt: func(r string) { reason.Store(r) }})
	defer w.Release()
	w.Begin()
	var held [][]byte
	for begun := time.Now(); reason.Load() == nil && time.Since(begun) < 20*time.Second; {
		if len(held) < 400 {
			held = append(held, make([]byte, 1<<20))
		}
		time.Sleep(time.Millisecond) // memory counts from the first look on
	}
	if _, v := w.End(); v != Interrupted || !strings.Contains(w.Reason(), "64 MiB") || len(held) < 64 {
		t.Error(v, w.Reason(), len(held))
	}
}

// The growth of a process has no owner: a call that only takes long must not pay for
// another one's.
func TestGrowthEndsTheCallThatCausesItAndNoOther(t *testing.T) {
	for _, name := range []string{"before", "after"} { // when the other one begins
		t.Run(name, func(t *testing.T) {
			runtime.GC() // what other tests have left must not go away meanwhile
			var d Dog
			options := func(told *atomic.Int32) Options {
				return Options{MemoryMax: 64 << 20, Interrupt: func(string) { told.Add(1) }}
			}
			var spinnerTold, growerTold atomic.Int32
			spinner, grower := d.Watch(options(&spinnerTold)), d.Watch(options(&growerTold))
			defer spinner.Release()
			defer grower.Release()
			first, second := spinner, grower
			if name == "after" {
				first, second = grower, spinner
			}
			var held [][]byte
			grow := func(until func() bool) {
				for begun := time.Now(); !until() && time.Since(begun) < 20*time.Second; time.Sleep(time.Millisecond) {
					held = append(held, make([]byte, 512<<10))
				}
			}
			first.Begin()
			if name == "after" {
				grow(func() bool { return len(held) > 30 })
			} else {
				time.Sleep(100 * time.Millisecond)
			}
			second.Begin()
			grow(func() bool { return growerTold.Load()+spinnerTold.Load() > 0 })
			for range 100 { // it takes a while to end
				held = append(held, make([]byte, 1<<20))
				time.Sleep(time.Millisecond)
			}
			if _, v := grower.End(); v != Interrupted {
				t.Error("the one that grows:", v)
			}
			time.Sleep(5 * period)
			if _, v := spinner.End(); v != InTime || growerTold.Load() != 1 {
				t.Error("the other one:", v, spinner.Reason())
			}
			clear(held)
		})
	}
}

func TestAReleasedWatchIsNotLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Dog
		a := d.Watch(Options{Limit: time.Second, Interrupt: func(string) { t.Error("interrupted") }})
		b := d.Watch(Options{})
		a.Begin()
		a.Release()
		a.Release()
		time.Sleep(3 * time.Second)
		b.Release()
		c := d.Watch(Options{}) // a new goroutine
		c.Release()
	})
}

func TestWhoIsToldMayReleaseTheWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Dog
		var w *Watch
		done := make(chan struct{})
		w = d.Watch(Options{Limit: time.Second, Interrupt: func(string) {}, Stuck: func(string) { w.Release(); close(done) }})
		w.Begin()
		<-done
	})
}

func BenchmarkCall(b *testing.B) {
	var d Dog
	w := d.Watch(Options{Limit: time.Minute, MemoryMax: 1 << 30})
	defer w.Release()
	for b.Loop() {
		w.Begin()
		w.End()
	}
}
