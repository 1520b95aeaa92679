package watchdog

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestACallInTimeIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
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
		var d Watchdog
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

// The growth of the process has no owner: it has a call measured, and what that holds itself
// ends it or not.
func TestACallEndsForWhatItHoldsAndNotForWhatTheProcessDoes(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name  string
		held  int64
		pause bool
		want  Verdict
	}{
		{"holds nothing", 0, true, InTime}, {"holds what it may", 64 * mib, true, InTime},
		{"holds more", 64*mib + 1, true, Interrupted}, {"holds more, and does not pause", 64*mib + 1, false, Interrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Watchdog
			asked, told := 0, 0
			w := d.Watch(Options{MemoryMax: 64 * mib, Interrupt: func(string) { told++ }, Held: func(limit int64) int64 {
				if asked++; limit != 64*mib {
					t.Error(limit)
				}
				return c.held
			}})
			defer w.Release()
			w.Begin()
			d.mu.Lock()
			for _, heap := range []int64{100, 150, 164} {
				w.grown(w.since.Load(), heap*mib)
			}
			if w.measureDue.Load() {
				t.Error("measured before the process has grown by more")
			}
			w.grown(w.since.Load(), 165*mib)
			d.mu.Unlock()
			for range 2 * clockEvery {
				if c.pause {
					w.Pause()
				}
			}
			if c.pause && (asked != 1 || told != int(c.want-InTime)) {
				t.Errorf("at a pause, it was measured %d times and interrupted %d times", asked, told)
			}
			if _, v := w.End(); v != c.want || asked != 1 || told != int(c.want-InTime) {
				t.Error(v, asked, told)
			}
			w.Begin() // another call begins anew
			d.mu.Lock()
			w.grown(w.since.Load(), 300*mib)
			d.mu.Unlock()
			if _, v := w.End(); v != InTime || asked != 1 {
				t.Error(v, asked)
			}
		})
	}
}

func TestGrowthIsSeen(t *testing.T) {
	runtime.GC() // what other tests have left must not go away meanwhile
	var d Watchdog
	asked := 0
	w := d.Watch(Options{MemoryMax: 64 << 20, Interrupt: func(string) {}, Held: func(int64) int64 { asked++; return 0 }})
	defer w.Release()
	w.Begin()
	for seen := false; !seen; time.Sleep(time.Millisecond) { // memory counts from the first look on
		d.mu.Lock()
		seen = w.seen > 0
		d.mu.Unlock()
	}
	var held [][]byte
	for begun := time.Now(); asked == 0 && time.Since(begun) < 20*time.Second; w.Pause() {
		if len(held) < 400 {
			held = append(held, make([]byte, 1<<20))
		}
		time.Sleep(time.Millisecond)
	}
	if _, v := w.End(); v != InTime || asked == 0 || len(held) < 64 {
		t.Error(v, asked, len(held))
	}
}

func TestAReleasedWatchIsNotLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
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
		var d Watchdog
		var w *Watch
		done := make(chan struct{})
		w = d.Watch(Options{Limit: time.Second, Interrupt: func(string) {}, Stuck: func(string) { w.Release(); close(done) }})
		w.Begin()
		<-done
	})
}

func BenchmarkCall(b *testing.B) {
	var d Watchdog
	w := d.Watch(Options{Limit: time.Minute, MemoryMax: 1 << 30})
	defer w.Release()
	for b.Loop() {
		w.Begin()
		w.End()
	}
}
