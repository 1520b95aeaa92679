package stage_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

// patience is the maximum wait for something that must happen.
const patience = time.Minute

// park never returns. TestMain ignores its goroutines.
func park() { select {} }

type returned struct{ n *atomic.Int32 }

func (r returned) OnDeadLetter() { r.n.Add(1) }

// An actor whose call never returns can be abandoned: its children stop, its parent receives the reason, its
// queued messages become dead letters, and its shard continues.
func TestAnActorIsAbandonedInACallThatNeverReturns(t *testing.T) {
	for name, c := range map[string]struct {
		poster bool // the call runs on the goroutine of a poster
		behind bool // another actor waits for the shard, so that the shard is taken over
		queued bool // messages are queued for the actor
	}{
		"in the worker":               {},
		"in the worker, taken over":   {behind: true},
		"in a poster":                 {poster: true},
		"in a poster, taken over":     {poster: true, behind: true},
		"with messages behind it":     {queued: true},
		"in a poster, messages there": {poster: true, queued: true, behind: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := stagetest.Start(t, nil)
			entered := make(chan struct{})
			parent, child, other := new(stagetest.Probe), new(stagetest.Probe), new(stagetest.Probe)
			stuck := &stagetest.Probe{OnReceive: func(_ *stage.Context, msg any) {
				if msg == "park" {
					close(entered)
					park()
				}
			}}
			parentRef, stuckRef, otherRef := s.Spawn(parent), s.NewRef(), s.Spawn(other)
			parentRef.Tell(stagetest.Do(func(c *stage.Context) { c.Spawn(stuckRef, stuck) }))
			stuckRef.Tell(stagetest.Do(func(c *stage.Context) {
				c.Spawn(c.Stage().NewRefBeside(c.Self(), counters.ActorProbe, stage.LaneLimits{}), child)
			}))
			stagetest.Await[stagetest.Started](t, child, patience)
			var back atomic.Int32
			if c.poster {
				go stuckRef.PostRun("park", 1)
			} else {
				stuckRef.Tell("park")
			}
			<-entered
			if c.queued {
				stuckRef.Tell(returned{&back})
				stuckRef.Post(returned{&back}, 1)
			}
			if c.behind {
				otherRef.Tell("hello")
				stagetest.Await[string](t, other, patience)
			}
			if !stuckRef.Abandon("stuck in a call") {
				t.Fatal("not abandoned")
			}
			assert.Equal(t, "the parent got", stagetest.Await[stage.Exited](t, parent, patience), (stage.Exited{Ref: stuckRef, Crash: "stuck in a call"}))
			stagetest.Await[stagetest.Stopped](t, child, patience)
			stagetest.Await[stagetest.Stopped](t, stuck, patience)
			if c.queued && back.Load() != 2 {
				t.Errorf("%d of 2 messages were given back", back.Load())
			}
			if stuckRef.Abandon("again") {
				t.Error("abandoned twice")
			}
			otherRef.Tell("still there")
			stagetest.Await[string](t, other, patience)
		})
	}
}

func TestAnActorInNoCallIsNotAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		defer s.Close()
		ref := s.Spawn(new(stagetest.Probe))
		synctest.Wait()
		if ref.Abandon("no reason") {
			t.Error("abandoned")
		}
	})
}
