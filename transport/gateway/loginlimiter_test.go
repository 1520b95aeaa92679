package gateway

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/player"
	"troupe/messages"
	"troupe/messages/counters"
)

// visitor is a connection at the turnstile.
type visitor struct {
	player.Newcomer
	after time.Duration // of its refusal
	gone  atomic.Bool
}

func (v *visitor) Gone() bool { return v.gone.Load() }

func (v *visitor) Refuse(after time.Duration) { v.after = after }

func (v *visitor) Channel() counters.Channel { return counters.WS }

// door is a turnstile and who went through it.
type door struct {
	*turnstile // its mu is its own
	begun      time.Time

	mu sync.Mutex
	in []string // guarded by mu
}

func (d *door) arrive(name string, s standing) *visitor {
	v := &visitor{}
	d.pass(&player.Login{ID: messages.PlayerSessionID(name), From: v}, s, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.in = append(d.in, fmt.Sprint(name, " ", time.Since(d.begun)))
	})
	return v
}

func (d *door) came(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.in, want) {
		t.Errorf("in came\n     %q\nwant %q", d.in, want)
	}
	d.in = nil
}

func TestTurnstileLetsThoseWhoComeBackGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second)
		d := &door{turnstile: newTurnstile(10, 6), begun: time.Now()} // a burst of one
		d.arrive("a", guest)
		d.arrive("b", guest)
		d.arrive("c", guest)
		d.arrive("d", playing)
		d.arrive("e", playing)
		d.came(t, "a 0s")
		time.Sleep(150 * time.Millisecond)
		d.came(t, "d 100ms")
		d.arrive("f", playing)
		time.Sleep(time.Second)
		d.came(t, "e 200ms", "f 300ms", "b 400ms", "c 500ms")
		d.turnstile.mu.Lock()
		running := d.timer != nil
		d.turnstile.mu.Unlock()
		if running {
			t.Error("a timer runs, and nobody waits")
		}
		d.arrive("g", guest) // the bucket is full again
		d.came(t, "g 1.15s")
	})
}

func TestTurnstileTellsWhenToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second)
		d := &door{turnstile: newTurnstile(10, 3), begun: time.Now()}
		for i := range 4 {
			if v := d.arrive(fmt.Sprint(i), guest); v.after != 0 {
				t.Errorf("%d is sent away for %v", i, v.after)
			}
		}
		if v := d.arrive("late", guest); v.after != 300*time.Millisecond {
			t.Errorf("sent away for %v, want the time that the queue takes", v.after)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if v := d.arrive("again", guest); v.after != 0 {
			t.Errorf("there is room: sent away for %v", v.after)
		}
		time.Sleep(time.Second)
		d.came(t, "0 0s", "1 100ms", "2 200ms", "3 300ms", "again 400ms")
	})
}

// Who holds a seat must not be sent away for others, however many wait.
func TestTurnstileSendsNobodyAwayWhoHoldsASeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second)
		d := &door{turnstile: newTurnstile(10, 2), begun: time.Now()}
		d.arrive("in", guest)
		d.arrive("first", guest)
		d.arrive("second", guest)
		if v := d.arrive("third", guest); v.after != 200*time.Millisecond {
			t.Errorf("sent away for %v", v.after)
		}
		for name, s := range map[string]standing{"new": seated, "back": playing} {
			if v := d.arrive(name, s); v.after != 0 {
				t.Errorf("%s is sent away", name)
			}
		}
		time.Sleep(time.Second)
		d.came(t, "in 0s", "back 100ms", "first 200ms", "second 300ms", "new 400ms")
	})
}

// Nor must a few who come back without end keep everybody else out, or those who have
// gone away cost the others their turn.
func TestTurnstileLeavesATurnToWhoIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second)
		d := &door{turnstile: newTurnstile(10, 20), begun: time.Now()}
		d.arrive("in", guest)
		d.arrive("x", guest)
		d.arrive("y", guest)
		for i := range 5 {
			d.arrive(fmt.Sprint(i), playing).gone.Store(i == 1)
		}
		time.Sleep(2 * time.Second)
		d.came(t, "in 0s", "0 100ms", "2 200ms", "3 300ms", "x 400ms", "4 500ms", "y 600ms")
	})
}

func TestTurnstileWithoutALimit(t *testing.T) {
	for _, limits := range []struct {
		perSecond float64
		waiting   int
		refused   int
	}{{0, 0, 0}, {0, 5, 0}, {1, 0, 0}, {1, 5, 94}} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Second)
			d := &door{turnstile: newTurnstile(limits.perSecond, limits.waiting), begun: time.Now()}
			refused := 0
			for i := range 100 {
				if d.arrive(fmt.Sprint(i), guest).after > 0 {
					refused++
				}
			}
			if refused != limits.refused {
				t.Errorf("%+v: %d refused", limits, refused)
			}
			time.Sleep(200 * time.Second)
			synctest.Wait()
			d.mu.Lock()
			defer d.mu.Unlock()
			if len(d.in) != 100-refused {
				t.Errorf("%+v: %d came in", limits, len(d.in))
			}
		})
	}
}
