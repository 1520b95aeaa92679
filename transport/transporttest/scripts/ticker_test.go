package scripts

import (
	"os"
	"testing"

	"github.com/dop251/goja"
)

// timeline runs the arena's Ticker with a virtual clock. The clock advances only when a tick takes time, or
// to wait for the next timer.
type timeline struct {
	*testing.T
	now   float64 // ms
	tick  func(number int)
	ticks []float64 // times of the ticks
	wake  goja.Callable
	delay float64 // delay of the current timer
}

func newTimeline(t *testing.T, interval float64, tick func(int)) *timeline {
	l := &timeline{T: t, tick: tick}
	text, err := os.ReadFile(examples + "arena/ticker.js")
	if err != nil {
		t.Fatal(err)
	}
	vm := goja.New()
	for name, value := range map[string]any{
		"exports": vm.NewObject(),
		"process": map[string]any{"hrtime": func() []float64 { return []float64{0, l.now * 1e6} }},
		"setTimeout": func(f goja.Callable, ms float64) int {
			l.wake, l.delay = f, ms
			return 1
		},
		"clearTimeout": func(any) { l.wake = nil },
		"interval":     interval,
		"tick": func() {
			l.ticks = append(l.ticks, l.now)
			l.tick(len(l.ticks))
		},
	} {
		if err := vm.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := vm.RunString(string(text) + "\nnew exports.Ticker(interval, tick).start()"); err != nil {
		t.Fatal(err)
	}
	return l
}

// next fires the timer late by the given milliseconds, and returns the number of ticks that it ran.
func (l *timeline) next(late float64) int {
	l.Helper()
	before, wake := len(l.ticks), l.wake
	if wake == nil {
		l.Fatal("no timer is set")
	}
	l.wake = nil
	l.now += l.delay + late
	if _, err := wake(goja.Undefined()); err != nil {
		l.Fatal(err)
	}
	return len(l.ticks) - before
}

func TestArenaTickerKeepsTheRate(t *testing.T) {
	l := newTimeline(t, 50, func(int) {})
	for i := range 200 {
		if n := l.next(float64(i % 7)); n != 1 {
			t.Fatalf("%d ticks at %v", n, l.now)
		}
	}
	if l.now < 10_000 || l.now > 10_010 {
		t.Errorf("200 ticks of 50 ms took %v ms", l.now)
	}
	if n := l.next(120); n != 3 {
		t.Errorf("%d ticks after 120 ms that were missed", n)
	}
	if n := l.next(60_000); n != 5 || l.delay != 50 {
		t.Errorf("%d ticks at once after a minute, the next after %v ms", n, l.delay)
	}
}

// Ticks that take too long slow down the game. They must not block everything else.
func TestArenaTickerYieldsWhenTicksAreSlow(t *testing.T) {
	l := newTimeline(t, 50, nil)
	l.tick = func(n int) {
		if l.now += 80; n > 1000 {
			panic("the ticker never lets anything else run")
		}
	}
	for range 20 {
		if n := l.next(0); n > 5 {
			t.Fatalf("%d ticks in one go", n)
		}
		if l.delay < 1 {
			t.Fatalf("the next after %v ms", l.delay)
		}
	}
}
