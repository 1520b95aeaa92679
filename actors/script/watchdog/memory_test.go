package watchdog

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const mib = 1 << 20

// heap replaces the heap metrics of the process.
type heap struct{ allocated, live, cycles atomic.Int64 }

func (h *heap) read() (allocated, live, cycles int64) {
	return h.allocated.Load(), h.live.Load(), h.cycles.Load()
}

func (h *heap) grow(allocated, live int64) {
	h.allocated.Add(allocated)
	h.live.Add(live)
}

// owner makes calls, and holds as many bytes as the test decides.
type owner struct {
	*Watch
	held        int64
	takes       time.Duration // duration of a measurement
	measured    int
	interrupted string
}

func ownerIn(t *testing.T, d *Watchdog) *owner {
	o := new(owner)
	o.Watch = d.Watch(Options{MemoryMax: 64 * mib, Interrupt: func(reason string) { o.interrupted = reason }, Held: func(limit int64) int64 {
		if o.measured++; limit != 64*mib {
			t.Error(limit)
		}
		time.Sleep(o.takes)
		return o.held
	}})
	t.Cleanup(o.Release)
	synctest.Wait() // the watchdog has made its first check
	return o
}

// call makes a call, and then waits until the weigher has had time to choose an owner.
func (o *owner) call(took time.Duration, pauses int) Verdict {
	o.Begin()
	for range pauses {
		o.Pause()
	}
	time.Sleep(took)
	_, v := o.End()
	time.Sleep(2 * memoryPeriod)
	return v
}

// If a measurement panics, further measurements are still made.
func TestAMeasurementThatPanicsIsNotTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heap
		d := Watchdog{heapFake: h.read}
		panicked := false
		broken := d.Watch(Options{MemoryMax: mib, Interrupt: func(string) {}, Held: func(int64) int64 { panic("the engine has changed") }})
		defer broken.Release()
		o := ownerIn(t, &d)
		defer o.Release()
		o.held = 65 * mib
		h.grow(2*mib, 0)
		for range 10 {
			func() {
				defer func() { panicked = recover() != nil || panicked }()
				broken.Begin()
				time.Sleep(time.Millisecond)
				broken.End()
			}()
			time.Sleep(2 * memoryPeriod)
		}
		h.grow(65*mib, 0)
		verdict := InTime
		for i := 0; i < 64 && verdict == InTime; i++ {
			verdict = o.call(time.Millisecond, 1)
		}
		if verdict != Interrupted || !panicked {
			t.Error(verdict, panicked)
		}
	})
}

// An owner that holds too much is ended in its first call after this may have happened. Nothing else ends it.
func TestACallEndsForWhatItsOwnerHolds(t *testing.T) {
	for _, c := range []struct {
		name   string
		held   int64
		pauses int
		want   Verdict
	}{
		{"holds nothing", 0, 1, InTime}, {"holds what it may", 64 * mib, 1, InTime},
		{"holds more", 64*mib + 1, 1, Interrupted}, {"holds more, and does not pause", 64*mib + 1, 0, Interrupted},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var h heap
				d := Watchdog{heapFake: h.read}
				o := ownerIn(t, &d)
				defer o.Release()
				o.held = c.held
				for range 64 {
					if v := o.call(time.Millisecond, c.pauses); v != InTime || o.measured > 0 {
						t.Fatalf("it ended %v and was measured %d times although it cannot have too much", v, o.measured)
					}
					h.grow(mib, 0)
				}
				h.grow(1, 0)
				o.call(time.Millisecond, c.pauses) // the choice is made after this call
				v := o.call(time.Millisecond, c.pauses)
				if v != c.want || o.measured != 1 || strings.Contains(o.interrupted, "64 MiB") != (c.want == Interrupted) {
					t.Errorf("%v, measured %d times, interrupted %q", v, o.measured, o.interrupted)
				}
			})
		})
	}
}

// A long call is measured at a Pause, even if it allocated everything before the first check.
func TestACallThatGoesOnIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heap
		d := Watchdog{heapFake: h.read}
		o := ownerIn(t, &d)
		defer o.Release()
		o.held = 65 * mib
		o.Begin()
		h.grow(65*mib, 0)
		for begun := time.Now(); o.interrupted == "" && time.Since(begun) < time.Second; o.Pause() {
			time.Sleep(50 * time.Microsecond)
		}
		if _, v := o.End(); v != Interrupted || o.measured != 1 {
			t.Error(v, o.measured)
		}
	})
}

// The players of twenty owners make the process grow. These owners are measured from time to time and
// continue. The owner that keeps another MiB with each call is ended.
func TestNeighboursOfOneThatHoldsTooMuchGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heap
		d := Watchdog{heapFake: h.read}
		var neighbours []*owner
		for range 20 {
			n := ownerIn(t, &d)
			defer n.Release()
			n.held, n.takes = mib, time.Millisecond
			neighbours = append(neighbours, n)
		}
		hoarder := ownerIn(t, &d)
		defer hoarder.Release()
		calls := 0
		for v := InTime; v == InTime; calls++ {
			for _, n := range neighbours {
				h.grow(mib/4, mib/4) // memory for the queues of the neighbour's players
				n.Begin()
				n.Pause()
				if _, v := n.End(); v != InTime {
					t.Fatal(v, n.interrupted)
				}
				time.Sleep(time.Millisecond)
			}
			h.grow(mib, mib)
			hoarder.held += mib
			hoarder.takes = time.Duration(hoarder.held/mib) * time.Millisecond
			hoarder.Begin()
			hoarder.Pause()
			time.Sleep(time.Millisecond)
			_, v = hoarder.End()
			if calls > 1000 {
				t.Fatal("it goes on")
			}
		}
		if calls > 128 {
			t.Errorf("it ended after %d calls", calls)
		}
	})
}

// Measurements take at most one percent of the time. There are two exceptions: the live memory of the process
// grows, or the machine is so busy that a measurement takes seconds.
func TestMeasuringTakesOnePercent(t *testing.T) {
	for _, c := range []struct {
		name       string
		live       int64         // growth of the live bytes per call
		takes      time.Duration // duration of a measurement
		more, less int           // minimum and maximum number of measurements
	}{
		{"garbage", 0, 10 * time.Millisecond, 80, 101},
		{"growth", mib, 10 * time.Millisecond, 1, 400},
		{"busy machine", 0, 2 * time.Second, 10, 15}, // a measurement of 2 s, then a pause of 5 s
	} {
		synctest.Test(t, func(t *testing.T) {
			var h heap
			d := Watchdog{heapFake: h.read}
			a, b := ownerIn(t, &d), ownerIn(t, &d)
			defer a.Release()
			defer b.Release()
			a.takes, b.takes, a.held, b.held = c.takes, c.takes, 60*mib, 60*mib
			for begun := time.Now(); time.Since(begun) < 100*time.Second; {
				h.grow(8*mib, c.live)
				a.call(time.Millisecond, 1)
				b.call(time.Millisecond, 1)
			}
			if n := a.measured + b.measured; n < c.more || n > c.less || min(a.measured, b.measured) < n/3 {
				t.Errorf("%s: they were measured %d and %d times", c.name, a.measured, b.measured)
			}
		})
	}
}

// An owner that makes no more calls does not delay the measurement of others.
func TestWhoIsIdleIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h heap
		d := Watchdog{heapFake: h.read}
		idler, other := ownerIn(t, &d), ownerIn(t, &d)
		defer idler.Release()
		defer other.Release()
		h.grow(65*mib, 0)
		idler.call(10*time.Millisecond, 1)
		if idler.measured != 0 || !idler.measureDue.Load() {
			t.Fatal("it is not chosen")
		}
		for range 12 {
			other.call(time.Millisecond, 1)
		}
		idler.call(time.Millisecond, 1)
		if other.measured != 1 || idler.measured != 1 {
			t.Error(other.measured, idler.measured)
		}
		idler.Release()
		other.Release()
		again := ownerIn(t, &d) // uses a new goroutine
		defer again.Release()
		h.grow(65*mib, 0)
		again.call(time.Millisecond, 1)
		again.call(time.Millisecond, 1)
		if again.measured != 1 {
			t.Error(again.measured)
		}
	})
}

// The allocations of the process can be read.
func TestTheHeapIsRead(t *testing.T) {
	var d Watchdog
	before := d.allocated()
	kept := make([][]byte, 0, 8)
	for range cap(kept) {
		kept = append(kept, make([]byte, mib))
	}
	if after := d.allocated(); after-before < 8*mib || len(kept) != 8 {
		t.Error(before, after)
	}
}
