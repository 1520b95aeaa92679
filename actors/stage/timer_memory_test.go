package stage

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/actorstest/assert"
	"troupe/messages/counters"
)

// funcActor is an actor that calls the functions it receives.
type funcActor struct {
	fired int
	last  func(*Context)
}

func (*funcActor) Started(*Context)     {}
func (h *funcActor) Stopped(c *Context) { h.last(c) }
func (h *funcActor) Receive(c *Context, msg any) {
	if f, ok := msg.(func(*Context)); ok {
		f(c)
		return
	}
	h.fired++
}

// armed returns the number of armed timers of an actor, and checks their list.
func armed(g *guard) (n int) {
	var before *Timer
	for t := g.timers; t != nil; t = t.after {
		if !t.armed || t.before != before {
			panic("the list of timers is wrong")
		}
		before = t
		n++
	}
	return n
}

// An actor does not keep timers that have fired or were stopped.
func TestTimersAreFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Log: zerolog.Nop(), Counters: new(counters.Set), Shards: 1})
		ref, h := s.NewRef(counters.ActorProbe, LaneLimits{}), new(funcActor)
		s.SpawnRoot(ref, h)
		ask := func(f func(*Context)) {
			ref.Tell(f)
			synctest.Wait()
		}
		timers := func() (n int) {
			ask(func(c *Context) {
				n = armed((*guard)(c))
			})
			return n
		}
		var kept []*Timer
		ask(func(c *Context) {
			for i := range 100 {
				kept = append(kept, c.After(time.Duration(i%10)*time.Second, i))
			}
		})
		assert.Equal(t, "timers", timers(), 90)
		ask(func(*Context) {
			for i, t := range kept {
				if i%3 == 0 {
					t.Stop()
					t.Stop()
				}
			}
		})
		if n, want := timers(), 90-34+4; n != want { // four of the stopped timers had fired before
			t.Errorf("%d timers, want %d", n, want)
		}
		time.Sleep(time.Minute)
		if n := timers(); n != 0 || h.fired != 70 {
			t.Errorf("%d timers after %d firings", n, h.fired)
		}
		ask(func(*Context) {
			for _, t := range kept {
				t.Reset(time.Hour)
			}
		})
		assert.Equal(t, "timers", timers(), 100)
		var g *guard
		ask(func(c *Context) {
			g = (*guard)(c)
			h.last = func(c *Context) {
				c.After(time.Hour, "never")
				kept[0].Reset(time.Hour)
			}
			c.StopSelf()
		})
		assert.Equal(t, "a stopped actor has timers", armed(g), 0)
		s.Close()
		assert.Equal(t, "panics", s.count.ActorPanics.Load(), 0)
	})
}
