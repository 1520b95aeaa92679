package stage_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
)

// crowd counts flushes by their time.
type crowd struct {
	mu sync.Mutex
	at map[time.Time]int
}

// one is the output of an actor of a crowd.
type one struct {
	crowd *crowd
	since time.Time // when it was marked dirty; zero: it is not
	held  time.Duration
}

func (o *one) Flush() {
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

// A shard with many busy actors writes a little all the time, not everything when the interval is over.
func TestGroupsAreFlushedOneAfterTheOther(t *testing.T) {
	spread := func(o *stage.Options) { o.Flush = stage.FlushPolicy{Interval: 15 * ms, Spread: 8} }
	bubble(t, spread, func(t *testing.T, s *stagetest.Stage) {
		const actors, every = 64, 300 * time.Microsecond // 50 are marked in 15 ms
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

// lateOut is a flusher that takes its time.
type lateOut struct {
	out
	takes time.Duration
}

func (o lateOut) Flush() {
	o.out.Flush()
	time.Sleep(o.takes)
}

// Flushing takes long on a full machine. What comes meanwhile is collected as ever: otherwise a shard that
// is behind would write single messages, where collecting saves most.
func TestWhatComesDuringAFlushWaitsForItsInterval(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		slow := s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) { c.Dirty(lateOut{out{"slow", j}, 10 * ms}) }})
		other := busy(s, j, 0, "a")[0]
		slow.Tell(1)
		time.Sleep(18 * ms)
		_ = other.PostRun(1, 0)
		time.Sleep(sec)
		j.want(t, "15ms flush slow", "18ms run a", "33ms flush a")
	})
}

// Actors that are made in a pattern, such as one for a room and then one for each of its connections, come to all shards and groups.
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
