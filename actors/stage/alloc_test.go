package stage_test

import (
	"runtime"
	"testing"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

// idleMax is the memory budget of an idle actor in bytes, including its share in the parent. Every connection
// has such an actor.
const idleMax = 330

func skipUnderRace(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector allocates on its own account")
	}
}

// item is a message that is reused.
type item struct{ n int }

// sink signals after each message, and marks itself dirty.
type sink struct {
	probe
	done chan struct{}
}

// Flush implements stage.Flusher.
func (s *sink) Flush() {}

// Receive implements stage.Actor.
func (s *sink) Receive(c *stage.Context, msg any) {
	msg.(*item).n++
	c.Dirty(s)
	s.done <- struct{}{}
}

// Sending a message does not allocate, whichever method is used.
func TestAllocsOfAMessage(t *testing.T) {
	skipUnderRace(t)
	s := stagetest.Start(t, func(o *stage.Options) { o.Flush.Interval = stage.Adaptive })
	k := &sink{done: make(chan struct{}, 100)}
	ref, msg := s.Spawn(k), new(item)
	for name, send := range map[string]func(){
		"Tell":        func() { ref.Tell(msg) },
		"TellInOrder": func() { ref.TellInOrder(msg) },
		"Post":        func() { _ = ref.Post(msg, 10) },
		"PostRun":     func() { _ = ref.PostRun(msg, 10) },
	} {
		for _, burst := range []int{1, 60} {
			if n := testing.AllocsPerRun(200, func() {
				for range burst {
					send()
				}
				for range burst {
					<-k.done
				}
			}); n != 0 {
				t.Errorf("%s, %d at a time: %v allocations", name, burst, n)
			}
		}
	}
}

// A timer that is reset at each tick does not allocate either.
func TestAllocsOfATimer(t *testing.T) {
	skipUnderRace(t)
	s := stagetest.Start(t, nil)
	done, tick, again := make(chan struct{}, 1), new(item), new(int)
	var timer *stage.Timer
	ref := s.Spawn(&quiet{func(c *stage.Context, msg any) {
		switch {
		case msg == tick:
			done <- struct{}{}
		case timer == nil:
			timer = c.After(0, tick)
		default:
			timer.Reset(0)
		}
	}})
	assert.Equal(t, "allocations per Reset", testing.AllocsPerRun(200, func() { ref.Tell(again); <-done }), 0)
}

// quiet is an actor that only calls a function.
type quiet struct {
	f func(c *stage.Context, msg any)
}

func (*quiet) Started(*stage.Context) {}
func (*quiet) Stopped(*stage.Context) {}
func (q *quiet) Receive(c *stage.Context, msg any) {
	if q.f != nil {
		q.f(c, msg)
	}
}

func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// bytesPerIdleActor returns the memory per actor of n children of one parent.
func bytesPerIdleActor(t testing.TB, n int) float64 {
	s := stagetest.Start(t, nil)
	idle := new(quiet)
	spawn := make(chan struct{})
	parent := s.Spawn(&quiet{func(c *stage.Context, _ any) {
		for range n {
			c.Spawn(c.Stage().NewRef(counters.ActorProbe, stage.LaneLimits{}), idle)
		}
		close(spawn)
	}})
	before := heap()
	parent.Tell("spawn")
	<-spawn
	for s.Ready() > 0 {
		runtime.Gosched()
	}
	bytes := (heap() - before) / float64(n)
	s.Close()
	return bytes
}

func TestAllocsOfAnIdleActor(t *testing.T) {
	skipUnderRace(t)
	bytes := bytesPerIdleActor(t, 9600)
	t.Logf("%.0f bytes per idle actor", bytes)
	if bytes > idleMax {
		t.Errorf("%.0f bytes per idle actor, at most %d are allowed", bytes, idleMax)
	}
}
