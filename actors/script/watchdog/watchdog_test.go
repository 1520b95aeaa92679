package watchdog

import (
	"runtime"
	"slices"
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
	runtime.GC() // what other tests have left must not go away meanwhile
	var d Dog
	var reason atomic.Value
	w := d.Watch(Options{MemoryMax: 64 << 20, Interrupt: func(r string) { reason.Store(r) }})
	defer w.Release()
	w.Begin()
	for seen := false; !seen; time.Sleep(time.Millisecond) { // memory counts from the first look on
		d.mu.Lock()
		seen = w.seen > 0
		d.mu.Unlock()
	}
	var held [][]byte
	for begun := time.Now(); reason.Load() == nil && time.Since(begun) < 20*time.Second; {
		if len(held) < 400 {
			held = append(held, make([]byte, 1<<20))
		}
		time.Sleep(time.Millisecond)
	}
	if _, v := w.End(); v != Interrupted || !strings.Contains(w.Reason(), "64 MiB") || len(held) < 64 {
		t.Error(v, w.Reason(), len(held))
	}
}

// The growth of a process has no owner: a call that only takes long must not pay for
// another one's. A machine that is busy has looks come late.
func TestGrowthEndsTheCallThatCausesItAndNoOther(t *testing.T) {
	const ms, mib = time.Millisecond, 1 << 20
	regular := func(n int) time.Duration { return time.Duration(n) * period }
	for _, c := range []struct {
		name            string
		grower, spinner time.Duration             // when they begin
		looks           func(n int) time.Duration // when the nth is
		burst, rate     int64                     // by how much it grows at once, and in a ms
		ends, takes     time.Duration             // when it ends by itself, and so long after it was told to
	}{
		{"the grower is first", 0, 45 * ms, regular, 0, mib / 2, time.Hour, 109 * ms},
		{"the grower is first, of two at once", 41 * ms, 43 * ms, regular, 0, mib / 2, time.Hour, 109 * ms},
		{"the other one is first", 145 * ms, 0, regular, 0, mib / 2, time.Hour, 109 * ms},
		{"looks come late", 0, 45 * ms, func(n int) time.Duration { return regular(n * n) }, 0, mib / 2, time.Hour, 109 * ms},
		{"the first look comes late", 0, 45 * ms, func(n int) time.Duration { return 25*ms + regular(n) }, 0, mib / 2, time.Hour, 109 * ms},
		{"a look comes late in between", 0, 45 * ms, func(n int) time.Duration { return regular(n + n/5*10) }, 0, mib / 2, time.Hour, 109 * ms},
		{"it grows before it is looked at", 145 * ms, 0, regular, 100 * mib, mib, time.Hour, 109 * ms},
		{"it grows fast", 0, 45 * ms, regular, 0, 16 * mib, time.Hour, 109 * ms},
		{"it grows fast, and last", 145 * ms, 0, regular, 0, 16 * mib, time.Hour, 109 * ms},
		{"it grows fast, and ends at once", 145 * ms, 0, regular, 0, 16 * mib, time.Hour, 9 * ms},
		{"it ends before it is to blame", 145 * ms, 0, regular, 100 * mib, 0, 200 * ms, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			var d Dog
			call := func() *Watch { return &Watch{o: Options{MemoryMax: 64 * mib, Interrupt: func(string) {}}} }
			spinner, grower := call(), call() // of two that cannot be told apart, the first is blamed
			ticks := call()                   // short ones, each look sees another
			begin := func(w *Watch, at, now time.Duration) {
				if at < now && w.since.Load() == idle {
					w.since.Store(int64(at) + oldest)
				}
			}
			ended := c.ends // between two looks
			for n := 1; c.looks(n) < 10*time.Second; n++ {
				now := c.looks(n)
				begin(spinner, c.spinner, now)
				if now < ended {
					begin(grower, c.grower, now)
				} else {
					grower.since.Store(idle)
				}
				ticks.since.Store(int64(now-ms) + oldest)
				open := []*Watch{spinner, grower, ticks}
				open = slices.DeleteFunc(open, func(w *Watch) bool { return w.since.Load() == idle })
				heap := int64(100 * mib)
				if grown := min(now, ended) - c.grower; grown > 0 {
					heap += c.burst + int64(grown/ms)*c.rate
				}
				switch d.weigh(open, now, heap) {
				case nil:
				case grower:
					ended = now + c.takes
				default:
					t.Fatalf("at %v, another one is blamed", now)
				}
			}
			if (ended == c.ends) != (c.takes == 0) {
				t.Error("the one that grows ended at", ended)
			}
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
