package stage_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
)

// crowd counts flushes by time.
type crowd struct {
	mu sync.Mutex
	at map[time.Time]int
	// takes is the duration of a flush.
	takes time.Duration
}

// one is the output of one actor of a crowd.
type one struct {
	crowd *crowd
	since time.Time // when it was marked dirty; zero if it is not dirty
	held  time.Duration
}

func (o *one) Flush() {
	o.crowd.mu.Lock()
	takes := o.crowd.takes
	o.crowd.mu.Unlock()
	time.Sleep(takes)
	o.crowd.mu.Lock()
	defer o.crowd.mu.Unlock()
	o.held, o.since = max(o.held, time.Since(o.since)), time.Time{}
	o.crowd.at[time.Now()]++
}

func (o *one) mark(c *stage.Context) {
	o.crowd.mu.Lock()
	defer o.crowd.mu.Unlock()
	if o.since.IsZero() {
		o.since = time.Now()
		c.Dirty(o)
	}
}

// A shard with many busy actors writes a little at a time, and not everything at the end of the interval.
func TestGroupsAreFlushedOneAfterTheOther(t *testing.T) {
	spread := func(o *stage.Options) { o.Flush = stage.FlushPolicy{Interval: 15 * ms, Spread: 8} }
	bubble(t, spread, func(t *testing.T, s *stagetest.Stage) {
		const actors, every = 64, 300 * time.Microsecond // about 50 actors are marked dirty in 15 ms
		all, refs := &crowd{at: make(map[time.Time]int)}, make([]*stage.Ref, actors)
		each := make([]one, actors)
		for i := range each {
			each[i].crowd = all
			refs[i] = s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) { each[i].mark(c) }})
		}
		synctest.Wait()
		for i := range 10 * actors {
			refs[i%actors].Tell(i)
			time.Sleep(every)
		}
		time.Sleep(sec)
		all.mu.Lock()
		defer all.mu.Unlock()
		most := 0
		for _, n := range all.at {
			most = max(most, n)
		}
		if most > 12 {
			t.Errorf("%d actors were flushed at once", most)
		}
		for i := range each {
			if !each[i].since.IsZero() || each[i].held > 15*ms {
				t.Errorf("the output of actor %d waited %v, dirty since %v", i, each[i].held, each[i].since)
			}
		}
	})
}

// lateOut is a flusher whose Flush takes time.
type lateOut struct {
	out
	takes time.Duration
}

func (o lateOut) Flush() {
	o.out.Flush()
	time.Sleep(o.takes)
}

// Flushing takes long on an overloaded machine. Output added meanwhile is collected for at least half an
// interval. Otherwise a slow shard would write single messages when collecting saves most.
func TestWhatComesDuringAFlushWaitsForTheNextTurn(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		slow := s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) { c.Dirty(lateOut{out{"slow", j}, 10 * ms}) }})
		other := busy(s, j, 0, "a")[0]
		slow.Tell(1)
		time.Sleep(18 * ms)
		_ = other.PostRun(1, 0)
		time.Sleep(sec)
		j.want(t, "15ms flush slow", "18ms run a", "30ms flush a")
	})
}

// After a flush that was late by more than half an interval, the next turn is skipped.
func TestATurnSoonAfterALateFlushIsLeftOut(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		actors := busy(s, j, 0, "a", "b", "c")
		late := s.Spawn(&probe{OnReceive: func(*stage.Context, any) { time.Sleep(9 * ms) }})
		actors[0].Tell(1)
		time.Sleep(14 * ms)
		late.Tell(1)
		time.Sleep(12 * ms)
		actors[1].Tell(1)
		time.Sleep(8 * ms) // 34 ms
		actors[2].Tell(1)
		time.Sleep(sec)
		j.want(t, "0s run a", "23ms flush a", "26ms run b", "34ms run c", "45ms flush b", "45ms flush c")
	})
}

// While the dedicated worker flushes, other goroutines run mailboxes, so that a message that arrives
// meanwhile does not wait.
func TestMailboxesRunBesideAFlush(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		slow := s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) { c.Dirty(lateOut{out{"slow", j}, 10 * ms}) }})
		actors := busy(s, j, 2*ms, "a", "b")
		slow.Tell(1)
		time.Sleep(14 * ms)
		_ = actors[0].PostRun(1, 0)
		assert.Equal(t, "back after : who posts a message has to flush", time.Since(j.born), 16*ms)
		_ = actors[1].PostRun(1, 0)
		time.Sleep(sec)
		j.want(t, "14ms run a", "15ms flush slow", "16ms run b", "25ms flush a", "30ms flush b")
	})
}

// crowded spawns the 64 actors of a crowd. post sends a message to an actor. The function flushes runs for d:
// it calls post for all actors at intervals of every, and returns the number of flushes in 15 ms.
func crowded(s *stagetest.Stage, takes time.Duration, post func(*stage.Ref)) (all *crowd, flushes func(d, every time.Duration) int) {
	all, refs := &crowd{at: make(map[time.Time]int), takes: takes}, make([]*stage.Ref, 64)
	each := make([]one, len(refs))
	for i := range each {
		each[i].crowd = all
		refs[i] = s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) { each[i].mark(c) }})
	}
	return all, func(d, every time.Duration) (n int) {
		all.mu.Lock()
		all.at = make(map[time.Time]int)
		all.mu.Unlock()
		for range d / every {
			for _, ref := range refs {
				post(ref)
			}
			time.Sleep(every)
		}
		all.mu.Lock()
		defer all.mu.Unlock()
		for _, at := range all.at {
			n += at
		}
		return n * 15 / int(d/ms)
	}
}

// A fixed interval stays as it is, also while the shard has more to write than time.
func TestAFixedIntervalIsKeptUnderStrain(t *testing.T) {
	spread := func(o *stage.Options) { o.Flush = stage.FlushPolicy{Interval: 15 * ms, Spread: 8} }
	bubble(t, spread, func(t *testing.T, s *stagetest.Stage) {
		_, flushes := crowded(s, 230*time.Microsecond, func(r *stage.Ref) { _ = r.PostRun(1, 0) })
		flushes(sec, 5*ms) // flushing the output of 15 ms takes 14.7 ms
		if n := flushes(3*sec, 5*ms); n < 60 {
			t.Errorf("%d flushes in an interval, want one of each of the 64 actors", n)
		}
	})
}

// An adaptive shard flushes at once. While flushes take most of its time, it collects output for up to 30 ms.
func TestAnAdaptiveShardCollectsUnderStrain(t *testing.T) {
	spread := func(o *stage.Options) { o.Flush = stage.FlushPolicy{Interval: stage.Adaptive, Spread: 8} }
	bubble(t, spread, func(t *testing.T, s *stagetest.Stage) {
		all, flushes := crowded(s, 20*time.Microsecond, func(r *stage.Ref) { r.Tell(1) })
		if n := flushes(sec, 2*ms); n < 64*7 {
			t.Errorf("%d flushes in 15 ms, want one for each message", n)
		}
		all.mu.Lock()
		all.takes = 40 * time.Microsecond // flushing the output of 2 ms takes 2.6 ms
		all.mu.Unlock()
		flushes(700*ms, 2*ms)
		if n := flushes(300*ms, 2*ms); n > 36 {
			t.Errorf("under strain %d flushes in 15 ms", n)
		}
		all.mu.Lock()
		all.takes = 20 * time.Microsecond
		all.mu.Unlock()
		time.Sleep(100 * ms) // the shard is idle, so strain ends
		if n := flushes(sec, 2*ms); n < 64*7 {
			t.Errorf("afterwards %d flushes in 15 ms", n)
		}
	})
}

// Groups that were flushed late together are soon separated again. Otherwise they would be flushed one right
// after the other forever, and the last would be late each time.
func TestGroupsSpreadAgainAfterADelay(t *testing.T) {
	spread := func(o *stage.Options) { o.Flush = stage.FlushPolicy{Interval: 15 * ms, Spread: 8} }
	bubble(t, spread, func(t *testing.T, s *stagetest.Stage) {
		const actors, takes = 64, 200 * time.Microsecond // flushing the output of all actors takes 12.8 ms
		all, refs := &crowd{at: make(map[time.Time]int), takes: takes}, make([]*stage.Ref, actors)
		each := make([]one, actors)
		for i := range each {
			each[i].crowd = all
			refs[i] = s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) { each[i].mark(c) }})
		}
		slow := s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) {
			c.Dirty(lateOut{out{"slow", newJournal()}, 20 * ms})
		}})
		slow.Tell(1)
		start, longest := time.Now(), time.Duration(0)
		for time.Since(start) < 300*ms {
			for _, ref := range refs {
				ref.Tell(1)
			}
			time.Sleep(ms)
			all.mu.Lock()
			for i := range each {
				if held := each[i].held; time.Since(start) > 200*ms {
					longest = max(longest, held)
				}
				each[i].held = 0
			}
			all.mu.Unlock()
		}
		if longest > 18*ms {
			t.Errorf("output was held for %v", longest)
		}
	})
}

// Actors that are created in a pattern, such as one for a room and then one for each of its connections, are
// spread over all shards and groups.
func TestActorsInAPatternAreSpread(t *testing.T) {
	const shards, groups, rooms = 2, 8, 256
	for step := uint64(1); step <= 32; step++ {
		var n [shards][groups]int
		for i := range uint64(rooms) {
			shard, group := stage.PlaceOf(1+i*step, shards, groups)
			n[shard][group]++
		}
		for shard := range n {
			for group, got := range n[shard] {
				if fair := rooms / shards / groups; got < fair/4 || got > 2*fair {
					t.Errorf("step %d: shard %d, group %d has %d of %d rooms", step, shard, group, got, rooms)
				}
			}
		}
	}
}
