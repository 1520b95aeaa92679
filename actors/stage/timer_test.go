package stage_test

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
)

// clocked is a probe that records its messages and the times since its creation.
type clocked struct {
	*probe
	born time.Time
	at   []time.Duration
}

func newClocked() *clocked {
	c := &clocked{probe: new(probe), born: time.Now()}
	c.OnReceive = func(*stage.Context, any) { c.at = append(c.at, time.Since(c.born)) }
	return c
}

func (c *clocked) want(t *testing.T, at ...time.Duration) {
	t.Helper()
	synctest.Wait()
	assert.List(t, "fired at", c.at, at)
}

const sec = time.Second

func TestTimerFiresOnceInTime(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		p := newClocked()
		s.Spawn(p).Tell(do(func(c *stage.Context) {
			c.After(3*sec, "b")
			c.After(0, "a")
			c.After(-sec, "a")
		}))
		time.Sleep(10 * sec)
		p.want(t, 0, 0, 3*sec)
		equal(t, "received", p.Take(), started, "a", "a", "b")
	})
}

func TestTimerResetAndStop(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		p := newClocked()
		var timer *stage.Timer
		ref := s.Spawn(p)
		at := func(when time.Duration, f func(c *stage.Context)) {
			time.Sleep(when - time.Since(p.born))
			ref.Tell(do(f))
			synctest.Wait()
		}
		at(0, func(c *stage.Context) { timer = c.After(2*sec, "x") })
		at(1*sec, func(*stage.Context) { timer.Reset(5 * sec) })  // later: does not fire at 2 s
		at(3*sec, func(*stage.Context) { timer.Reset(1 * sec) })  // sooner: fires at 4 s, not at 6 s
		at(7*sec, func(*stage.Context) { timer.Reset(1 * sec) })  // after it has fired: fires again at 8 s
		at(9*sec, func(*stage.Context) { timer.Reset(3 * sec) })  // would fire at 12 s
		at(10*sec, func(*stage.Context) { timer.Stop() })         // but is stopped
		at(20*sec, func(*stage.Context) { timer.Reset(2 * sec) }) // started again: fires at 22 s
		at(30*sec, func(*stage.Context) { timer.Stop() })         // there is nothing to stop
		at(31*sec, func(c *stage.Context) { timer = nil; timer.Stop() })
		time.Sleep(10 * sec)
		p.want(t, 4*sec, 8*sec, 22*sec)
	})
}

// If the timer's message is already in the mailbox when the timer is reset or stopped, the message is
// ignored.
func TestTimerStaleFiring(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		p := newClocked()
		ref := s.Spawn(p)
		ref.Tell(do(func(c *stage.Context) {
			reset, stop, both := c.After(1*sec, "reset"), c.After(1*sec, "stop"), c.After(1*sec, "both")
			again := c.After(1*sec, "again")
			time.Sleep(2 * sec) // the messages of all four timers are in the mailbox now
			reset.Reset(3 * sec)
			stop.Stop()
			both.Stop()
			both.Reset(6 * sec)
			again.Reset(0) // fires once, although two messages of it are in the mailbox
		}))
		time.Sleep(20 * sec)
		p.want(t, 2*sec, 5*sec, 8*sec)
		equal(t, "received", p.Take(), started, "again", "reset", "both")
	})
}

func TestTimerDiesWithItsOwner(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		var timer *stage.Timer
		p := &probe{OnStopped: func(c *stage.Context) {
			timer.Reset(sec)
			c.After(sec, "from Stopped").Reset(sec)
		}}
		ref := s.Spawn(p)
		ref.Tell(do(func(c *stage.Context) {
			timer = c.After(sec, "pending")
			queued := c.After(0, "queued")
			time.Sleep(sec / 2)
			_ = queued
			c.StopSelf()
			c.After(0, "after StopSelf").Stop()
			timer.Reset(0)
		}))
		time.Sleep(10 * sec)
		equal(t, "received", p.Take(), started, stopped)
	})
}

func TestTimerDiesInACrash(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		p := new(probe)
		ref := s.Spawn(p)
		ref.Tell(do(func(c *stage.Context) {
			c.After(sec, "pending")
			panic("now")
		}))
		time.Sleep(10 * sec)
		equal(t, "received", p.Take(), started, stopped)
		s.Panics = 1
	})
}

// A timer that is reset at each tick keeps its interval and reuses its memory.
func TestTimerAsATick(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		p := newClocked()
		var timer *stage.Timer
		note := p.OnReceive
		p.OnReceive = func(c *stage.Context, msg any) {
			note(c, msg)
			if len(p.at) < 4 {
				timer.Reset(sec)
			}
		}
		s.Spawn(p).Tell(do(func(c *stage.Context) { timer = c.After(sec, "tick") }))
		time.Sleep(10 * sec)
		p.want(t, 1*sec, 2*sec, 3*sec, 4*sec)
	})
}

// The deadline of an awake timer moves by the time during which the actor could not run, and no further.
// Other timers are not affected.
func TestAnAwakeTimerMovesByTheLateness(t *testing.T) {
	for _, c := range []struct{ pause, least, most time.Duration }{
		{0, 30 * sec, 30 * sec},
		{sec / 2, 30 * sec, 30 * sec},
		{20 * sec, 48 * sec, 50 * sec},
		{2 * time.Minute, 148 * sec, 150 * sec},
	} {
		bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
			p := newClocked()
			ref := s.Spawn(p)
			ref.Tell(do(func(c *stage.Context) { c.AfterAwake(30*sec, "awake") }))
			time.Sleep(10 * sec)
			ref.Tell(do(func(*stage.Context) { time.Sleep(c.pause) }))
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			if len(p.at) != 1 || p.at[0] < c.least || p.at[0] > c.most {
				t.Errorf("with a pause of %v it fires at %v", c.pause, p.at)
			}
		})
	}
}

func TestAnAwakeTimerIsStoppedAndReset(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		p := newClocked()
		var timer *stage.Timer
		ref := s.Spawn(p)
		ref.Tell(do(func(c *stage.Context) { timer = c.AfterAwake(30*sec, "x") }))
		time.Sleep(10 * sec)
		ref.Tell(do(func(*stage.Context) { timer.Reset(5 * sec) }))
		time.Sleep(10 * sec)
		p.want(t, 15*sec)
		ref.Tell(do(func(*stage.Context) { timer.Reset(30 * sec) }))
		time.Sleep(10 * sec)
		ref.Tell(do(func(*stage.Context) { timer.Stop() }))
		time.Sleep(time.Minute)
		p.want(t, 15*sec)
	})
}
