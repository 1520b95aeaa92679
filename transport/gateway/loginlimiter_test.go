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

// loginConn is a connection whose login passes the limiter.
type loginConn struct {
	player.LoginConn
	after time.Duration // retry time of its refusal
	gone  atomic.Bool
}

func (v *loginConn) Gone() bool { return v.gone.Load() }

func (v *loginConn) Refuse(after time.Duration) { v.after = after }

func (v *loginConn) Channel() counters.Channel { return counters.WS }

// limiterUnderTest is a limiter and the logins it has admitted.
type limiterUnderTest struct {
	*loginLimiter // its mu is separate
	begun         time.Time

	mu sync.Mutex
	in []string // guarded by mu
}

func (d *limiterUnderTest) arrive(name string, s loginClass) *loginConn {
	v := &loginConn{}
	d.pass(&player.Login{ID: messages.PlayerSessionID(name), From: v}, s, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.in = append(d.in, fmt.Sprint(name, " ", time.Since(d.begun)))
	})
	return v
}

func (d *limiterUnderTest) came(t *testing.T, want ...string) {
	t.Helper()
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.in, want) {
		t.Errorf("in came\n     %q\nwant %q", d.in, want)
	}
	d.in = nil
}

func TestLoginLimiterLetsReconnectingPlayersGoFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second)
		d := &limiterUnderTest{loginLimiter: newLoginLimiter(10, 6), begun: time.Now()} // with a burst of one
		d.arrive("a", refusable)
		d.arrive("b", refusable)
		d.arrive("c", refusable)
		d.arrive("d", reconnecting)
		d.arrive("e", reconnecting)
		d.came(t, "a 0s")
		time.Sleep(150 * time.Millisecond)
		d.came(t, "d 100ms")
		d.arrive("f", reconnecting)
		time.Sleep(time.Second)
		d.came(t, "e 200ms", "f 300ms", "b 400ms", "c 500ms")
		d.loginLimiter.mu.Lock()
		running := d.timer != nil
		d.loginLimiter.mu.Unlock()
		if running {
			t.Error("a timer runs, and nobody waits")
		}
		d.arrive("g", refusable) // the bucket is full again
		d.came(t, "g 1.15s")
	})
}

func TestLoginLimiterTellsWhenToComeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second)
		d := &limiterUnderTest{loginLimiter: newLoginLimiter(10, 3), begun: time.Now()}
		for i := range 4 {
			if v := d.arrive(fmt.Sprint(i), refusable); v.after != 0 {
				t.Errorf("%d is sent away for %v", i, v.after)
			}
		}
		if v := d.arrive("late", refusable); v.after != 300*time.Millisecond {
			t.Errorf("sent away for %v, want the time that the queue takes", v.after)
		}
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		if v := d.arrive("again", refusable); v.after != 0 {
			t.Errorf("there is room: sent away for %v", v.after)
		}
		time.Sleep(time.Second)
		d.came(t, "0 0s", "1 100ms", "2 200ms", "3 300ms", "again 400ms")
	})
}

// A player with a reserved seat must not be refused in favour of others, however many logins wait.
func TestLoginLimiterRefusesNobodyWithAReservedSeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second)
		d := &limiterUnderTest{loginLimiter: newLoginLimiter(10, 2), begun: time.Now()}
		d.arrive("in", refusable)
		d.arrive("first", refusable)
		d.arrive("second", refusable)
		if v := d.arrive("third", refusable); v.after != 200*time.Millisecond {
			t.Errorf("sent away for %v", v.after)
		}
		for name, s := range map[string]loginClass{"new": reserved, "back": reconnecting} {
			if v := d.arrive(name, s); v.after != 0 {
				t.Errorf("%s is sent away", name)
			}
		}
		time.Sleep(time.Second)
		d.came(t, "in 0s", "back 100ms", "first 200ms", "second 300ms", "new 400ms")
	})
}

// A few players that reconnect again and again must not keep out everybody else. Logins whose
// connections have ended must not use up turns.
func TestLoginLimiterLeavesATurnToNewPlayers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Second)
		d := &limiterUnderTest{loginLimiter: newLoginLimiter(10, 20), begun: time.Now()}
		d.arrive("in", refusable)
		d.arrive("x", refusable)
		d.arrive("y", refusable)
		for i := range 5 {
			d.arrive(fmt.Sprint(i), reconnecting).gone.Store(i == 1)
		}
		time.Sleep(2 * time.Second)
		d.came(t, "in 0s", "0 100ms", "2 200ms", "3 300ms", "x 400ms", "4 500ms", "y 600ms")
	})
}

func TestLoginLimiterWithoutALimit(t *testing.T) {
	for _, limits := range []struct {
		perSecond float64
		waiting   int
		refused   int
	}{{0, 0, 0}, {0, 5, 0}, {1, 0, 0}, {1, 5, 94}} {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Second)
			d := &limiterUnderTest{loginLimiter: newLoginLimiter(limits.perSecond, limits.waiting), begun: time.Now()}
			refused := 0
			for i := range 100 {
				if d.arrive(fmt.Sprint(i), refusable).after > 0 {
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
