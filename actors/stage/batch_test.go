package stage_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

// Messages of a batch wait until it runs; then each actor handles all of its own at once, in the caller.
func TestABatchRunsEachActorOnce(t *testing.T) {
	bubble(t, policy(stage.Adaptive), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		refs := busy(s, j, ms, "a", "b")
		var b stage.Batch
		for _, ref := range []*stage.Ref{refs[0], refs[1], refs[0]} {
			if err := ref.PostBatch("x", 0, &b); err != nil {
				t.Error(err)
			}
		}
		time.Sleep(sec)
		for n := range 3 {
			if ran, want := b.RunNext(), n < 2; ran != want {
				t.Errorf("call %d ran: %v", n, ran)
			}
		}
		if took := time.Since(j.born); took != sec+3*ms {
			t.Errorf("%v: it did not run here", took)
		}
		j.want(t, "1s run a", "1.001s run a", "1.002s flush a", "1.002s flush a", "1.002s run b", "1.003s flush b")
	})
}

// What others post to an actor of a batch is handled with the batch, and an actor that takes long runs elsewhere.
func TestABatchAndOthers(t *testing.T) {
	bubble(t, policy(stage.Adaptive), func(t *testing.T, s *stagetest.Stage) {
		var b stage.Batch
		var got atomic.Int32
		ref := s.SpawnAt(s.Stage.NewRef(counters.ActorProbe, stage.LaneLimits{LongRunning: true}), &probe{OnReceive: func(*stage.Context, any) {
			got.Add(1)
			time.Sleep(ms)
		}})
		synctest.Wait()
		_ = ref.PostBatch("x", 0, &b)
		_ = ref.PostRun("y", 0)
		synctest.Wait()
		if got := got.Load(); got != 0 {
			t.Errorf("%d messages before the batch ran", got)
		}
		start := time.Now()
		for b.RunNext() {
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the caller was busy for %v", took)
		}
		time.Sleep(sec)
		if got := got.Load(); got != 2 {
			t.Errorf("%d messages", got)
		}
		_ = ref.PostBatch("z", 0, nil) // the same as PostRun
		time.Sleep(sec)
		if got := got.Load(); got != 3 {
			t.Errorf("%d messages in the end", got)
		}
	})
}
