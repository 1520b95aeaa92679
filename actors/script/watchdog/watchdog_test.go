package watchdog

import (
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
		var d Watchdog
		w := d.Watch(Options{Limit: time.Second, Interrupt: func(string) { t.Error("interrupted") }})
		defer w.Release()
		for range 5 {
			w.Begin()
			time.Sleep(900 * time.Millisecond)
			if took, v := w.End(); v != InTime || took != 900*time.Millisecond {
				t.Error(took, v)
			}
			time.Sleep(time.Second) // the watchdog's goroutine falls asleep
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
		w.Begin() // the next call is judged separately
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

func TestTheGraceIsNotOverIfTheWatchdogDidNotRunItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const held = 10 * time.Second // how long the watchdog's goroutine gets no core
		var d Watchdog
		var stuck atomic.Bool
		w := d.Watch(Options{Limit: time.Second, Interrupt: func(string) { time.Sleep(held) }, Stuck: func(string) { stuck.Store(true) }})
		defer w.Release()
		w.Begin()
		time.Sleep(time.Second + held + Grace/2)
		if _, v := w.End(); v != Interrupted || stuck.Load() {
			t.Error(v, stuck.Load())
		}
		w.Begin()
		time.Sleep(time.Second + held + Grace + 5*period)
		if _, v := w.End(); v != Stuck || !stuck.Load() {
			t.Error(v, stuck.Load())
		}
	})
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
		c := d.Watch(Options{}) // starts a new goroutine
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

// Short calls now and then do not keep the watchdog busy, and a long one among them is still noticed in time.
func TestShortCallsAreCheckedRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d Watchdog
		var interrupted time.Time
		w := d.Watch(Options{Limit: 70 * time.Millisecond, Interrupt: func(string) { interrupted = time.Now() }})
		defer w.Release()
		for range 100 {
			w.Begin()
			w.End()
			time.Sleep(97 * time.Millisecond)
		}
		synctest.Wait()
		if n := w.worker.onTime / period; n < 100 || n > 200 { // onTime grows by one period with each check
			t.Errorf("%d checks in 9.7 s", n)
		}
		for offset := range idlePeriod / time.Millisecond {
			time.Sleep(time.Second + offset*time.Millisecond)
			w.Begin()
			w.End()
			time.Sleep(97 * time.Millisecond)
			w.Begin()
			begun := time.Now()
			time.Sleep(time.Second)
			synctest.Wait()
			if _, v := w.End(); v != Interrupted || interrupted.Sub(begun) > 80*time.Millisecond {
				t.Fatal(v, interrupted.Sub(begun))
			}
		}
	})
}
