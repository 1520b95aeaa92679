package stage_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

func TestAnActorMayHandOverItsShard(t *testing.T) {
	for name, post := range map[string]func(*stage.Ref, any){
		"worker": func(r *stage.Ref, msg any) { _ = r.Post(msg, 0) },
		"poster": func(r *stage.Ref, msg any) { go func() { _ = r.PostRun(msg, 0) }() },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
				slow := s.NewRef()
				j := newJournal()
				s.SpawnAt(slow, &probe{OnReceive: func(c *stage.Context, msg any) {
					if msg == "slow" {
						c.Dirty(out{"before", j})
						time.Sleep(ms)
						slow.HandOver()
						slow.HandOver()
						time.Sleep(ms)
						c.Dirty(out{"after", j})
						time.Sleep(ms)
					}
					j.note(fmt.Sprint(msg))
				}})
				quick := s.Spawn(&probe{OnReceive: func(_ *stage.Context, msg any) {
					time.Sleep(ms / 10)
					j.note(fmt.Sprint(msg))
				}})
				synctest.Wait()
				post(slow, "slow")
				time.Sleep(ms / 2)
				quick.Tell("quick")
				_ = slow.Post("next", 0) // in order, and never at the same time
				time.Sleep(sec)
				j.want(t, "1.1ms quick", "1.1ms flush before", "2ms flush after", "3ms slow", "3ms next")
				post(slow, "again") // the shard must have a single owner again
				time.Sleep(sec)
				quick.Tell("quick again")
				time.Sleep(sec)
				j.want(t, "1.1ms quick", "1.1ms flush before", "2ms flush after", "3ms slow", "3ms next", "1.0005s again", "2.0006s quick again")
			})
		})
	}
}

// The watch may take the shard before the actor hands it over.
func TestAHandOverAfterATakeOver(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		slow := s.NewRef()
		j := newJournal()
		s.SpawnAt(slow, &probe{OnReceive: func(_ *stage.Context, msg any) {
			time.Sleep(50 * ms)
			slow.HandOver()
			time.Sleep(50 * ms)
			j.note(fmt.Sprint(msg))
		}})
		quick := s.Spawn(&probe{OnReceive: func(_ *stage.Context, msg any) {
			time.Sleep(60 * ms) // it owns the shard when the other actor calls HandOver
			j.note(fmt.Sprint(msg))
		}})
		synctest.Wait()
		_ = slow.Post("slow", 0)
		synctest.Wait()
		quick.Tell("quick")
		time.Sleep(sec)
		j.want(t, "80ms quick", "100ms slow")
	})
}

// A call of another actor must not delay a goroutine that posts to one actor.
func TestAPosterRunsNoOtherLongRunningMailbox(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		long := s.SpawnAt(s.Stage.NewRef(counters.ActorProbe, stage.LaneLimits{LongRunning: true}), &probe{OnReceive: func(_ *stage.Context, msg any) {
			time.Sleep(5 * ms)
			j.note(fmt.Sprint("lengthy ", msg))
		}})
		quick := s.Spawn(&probe{OnReceive: func(_ *stage.Context, msg any) {
			long.Tell(msg)
			time.Sleep(ms)
			j.note(fmt.Sprint("quick ", msg))
		}})
		time.Sleep(sec)
		begun := time.Now()
		_ = quick.PostRun(1, 0)
		assert.Equal(t, "the poster is back after", time.Since(begun), ms)
		time.Sleep(sec)
		begun = time.Now()
		_ = long.PostRun(2, 0) // here the poster itself runs the LongRunning actor, because it posts to that actor directly
		assert.Equal(t, "the poster is back after", time.Since(begun), 5*ms)
		if j.mu.Lock(); len(j.lines) != 3 {
			t.Error(j.lines)
		}
		j.mu.Unlock()
	})
}
