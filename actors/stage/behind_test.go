package stage_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

// A slow shard always has output to flush. Actors that only its own worker may run get turns nevertheless.
func TestMailboxesRunWhileAShardIsBehindWithFlushes(t *testing.T) {
	for name, interval := range map[string]time.Duration{"15 ms": 15 * ms, "adaptive": stage.Adaptive} {
		t.Run(name, func(t *testing.T) {
			behind := func(o *stage.Options) { o.Flush = stage.FlushPolicy{Interval: interval, Spread: 8} }
			bubble(t, behind, func(t *testing.T, s *stagetest.Stage) {
				const every = 5 * ms
				// The flushes of one interval take 64 ms, which is also more than the interval of 30 ms under
				// strain.
				_, flushes := crowded(s, ms, func(r *stage.Ref) { _ = r.PostRun(1, 0) })
				var mu sync.Mutex
				var longest time.Duration
				n, scripts := 0, make([]*stage.Ref, 40)
				for i := range scripts {
					scripts[i] = spawnScript(s, &probe{OnReceive: func(_ *stage.Context, msg any) {
						mu.Lock()
						defer mu.Unlock()
						n++
						longest = max(longest, time.Since(msg.(time.Time)))
					}})
				}
				go func() {
					time.Sleep(300 * ms)
					for range 20 {
						for _, script := range scripts {
							script.Tell(time.Now())
						}
						time.Sleep(50 * ms)
					}
				}()
				flushes(2*sec, every)
				mu.Lock()
				defer mu.Unlock()
				if want := 20 * len(scripts); n != want || longest > 100*ms {
					t.Errorf("%d of %d messages, one of them after %v", n, want, longest)
				}
			})
		})
	}
}

// A goroutine that posts to one actor does not run the script of another actor, even if mailboxes are waiting
// for the end of a flush.
func TestAPosterRunsNoScriptOfOthersDuringAFlush(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		slow := s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) { c.Dirty(lateOut{out{"slow", j}, 10 * ms}) }})
		relay := busy(s, j, 0, "relay")[0]
		script := spawnScript(s, &probe{OnReceive: func(*stage.Context, any) {
			j.note("run script")
			time.Sleep(8 * ms)
		}})
		slow.Tell(1)
		time.Sleep(17 * ms)
		script.Tell(1)
		_ = relay.PostRun(1, 0)
		assert.Equal(t, "back after : who posts a message runs another actor's script", time.Since(j.born), 17*ms)
		time.Sleep(sec)
		j.want(t, "15ms flush slow", "17ms run relay", "25ms run script", "33ms flush relay")
	})
}

// A poster that lost the shard, because the call it ran took long, flushes once and returns. It may be the
// reader of many connections.
func TestAPosterThatLostTheShardDoesNotFlushForOthers(t *testing.T) {
	bubble(t, policy(stage.Adaptive), func(t *testing.T, s *stagetest.Stage) {
		script := spawnScript(s, &probe{OnReceive: func(c *stage.Context, _ any) {
			time.Sleep(50 * ms)
			c.Dirty(lateOut{out{"script", newJournal()}, ms})
		}})
		other := s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) {
			time.Sleep(ms / 2)
			c.Dirty(lateOut{out{"other", newJournal()}, 2 * ms})
		}})
		go func() {
			time.Sleep(ms)
			s.Spawn(new(probe)).Tell(1) // it waits, so that another worker takes the shard over
			time.Sleep(48*ms + ms*3/4)  // that worker is busy when the script finishes
			for range 600 {
				other.Tell(1)
				time.Sleep(ms)
			}
		}()
		synctest.Wait()
		start := time.Now()
		_ = script.PostRun(1, 0)
		if took := time.Since(start); took > 70*ms {
			t.Errorf("back after %v", took)
		}
		time.Sleep(sec)
	})
}

// An empty mailbox gets no further turn, even if a flush is overdue.
func TestAnEmptyMailboxTakesNoTurn(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		slow := s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) { c.Dirty(lateOut{out{"slow", j}, 40 * ms}) }})
		relays := busy(s, j, 0, "a", "b")
		slow.Tell(1)
		time.Sleep(16 * ms)
		_ = relays[0].PostRun(1, 0)
		time.Sleep(20 * ms)
		before := stage.PosterRuns(relays[1])
		_ = relays[1].PostRun(1, 0)
		assert.Equal(t, "a message took turns", stage.PosterRuns(relays[1])-before, 1)
		time.Sleep(sec)
	})
}

// A game session that writes too much does not slow down the game sessions of other shards.
func TestOneStrainedShardOfMany(t *testing.T) {
	const shards, many = 4, 256
	options := func(o *stage.Options) {
		o.Shards, o.Flush = shards, stage.FlushPolicy{Interval: stage.Adaptive, Spread: 8}
	}
	for _, test := range []struct {
		busy int // number of busy shards
		want bool
	}{{1, false}, {2, true}} {
		bubble(t, options, func(t *testing.T, s *stagetest.Stage) {
			written := [shards]*crowd{}
			for n := range shards {
				written[n] = &crowd{at: make(map[time.Time]int), takes: 10 * time.Microsecond}
				if n < test.busy {
					written[n].takes = 50 * time.Microsecond
				}
			}
			each, refs := make([]one, many), make([]*stage.Ref, many)
			for i := range each {
				refs[i] = s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) { each[i].mark(c) }})
				each[i].crowd = written[stage.ShardOf(refs[i])]
			}
			post := func(d time.Duration) {
				for range d / (2 * ms) {
					for _, ref := range refs {
						ref.Tell(1)
					}
					time.Sleep(2 * ms)
				}
			}
			post(sec)
			calm := written[shards-1]
			calm.mu.Lock()
			calm.at = make(map[time.Time]int)
			calm.mu.Unlock()
			post(300 * ms)
			calm.mu.Lock()
			defer calm.mu.Unlock()
			n := 0
			for _, at := range calm.at {
				n += at
			}
			if all := 150 * many / shards; (n < all/2) != test.want {
				t.Errorf("%d of %d shards are behind: the last one wrote %d of %d messages by themselves", test.busy, shards, n, all)
			}
		})
	}
}

// spawnScript spawns an actor whose calls may take long.
func spawnScript(s *stagetest.Stage, a stage.Actor) *stage.Ref {
	return s.SpawnAt(s.Stage.NewRef(counters.ActorProbe, stage.LaneLimits{LongRunning: true}), a)
}
