package stage_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

const ms = time.Millisecond

// journal records events with the virtual time since its creation.
type journal struct {
	born  time.Time
	mu    sync.Mutex
	lines []string
}

func newJournal() *journal { return &journal{born: time.Now()} }

func (j *journal) note(what string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, fmt.Sprintf("%v %s", time.Since(j.born), what))
}

func (j *journal) want(t *testing.T, lines ...string) {
	t.Helper()
	synctest.Wait()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !slices.Equal(j.lines, lines) {
		t.Errorf("got  %q\nwant %q", j.lines, lines)
	}
}

// out is a flusher that records its flushes.
type out struct {
	name string
	j    *journal
}

func (o out) Flush() { o.j.note("flush " + o.name) }

func policy(d time.Duration) func(*stage.Options) {
	return func(o *stage.Options) { o.Flush.Interval = d }
}

// gate calls post while the shard is blocked, so that all mailboxes become ready at the same time.
func gate(s *stagetest.Stage, post func()) {
	hold := make(chan struct{})
	s.Spawn(new(probe)).Tell(do(func(*stage.Context) { <-hold }))
	synctest.Wait()
	post()
	close(hold)
}

// busy returns actors that mark output dirty at each message and then work for d.
func busy(s *stagetest.Stage, j *journal, d time.Duration, names ...string) (refs []*stage.Ref) {
	for _, name := range names {
		refs = append(refs, s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) {
			c.Dirty(out{name, j})
			j.note("run " + name)
			time.Sleep(d)
		}}))
	}
	synctest.Wait()
	return refs
}

func TestFlushAfterEveryBatch(t *testing.T) {
	bubble(t, policy(0), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		refs := busy(s, j, ms, "a", "b")
		gate(s, func() {
			refs[0].Tell(1)
			refs[0].Tell(2)
			refs[1].Tell(3)
		})
		time.Sleep(sec)
		j.want(t, "0s run a", "1ms run a", "2ms flush a", "2ms flush a", "2ms run b", "3ms flush b")
	})
}

func TestFlushAtAnIntervalAlsoWhileIdle(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		refs := busy(s, j, 0, "a", "b")
		for _, when := range []time.Duration{0, 10, 14, 16} {
			time.Sleep(when*ms - time.Since(j.born))
			refs[when%4/2].Tell(1)
		}
		time.Sleep(sec)
		refs[0].Tell(1)
		time.Sleep(sec)
		j.want(t, "0s run a", "10ms run b", "14ms run b", "15ms flush a", "15ms flush b", "15ms flush b",
			"16ms run a", "30ms flush a", "1.016s run a", "1.02s flush a")
	})
}

func TestFlushAtAnIntervalWhileBusy(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		refs := busy(s, j, 4*ms, "a", "b", "c", "d", "e", "f")
		gate(s, func() {
			for _, r := range refs {
				r.Tell(1)
			}
		})
		time.Sleep(sec)
		j.want(t, "0s run a", "4ms run b", "8ms run c", "12ms run d",
			"16ms flush a", "16ms flush b", "16ms flush c", "16ms flush d", "16ms run e", "20ms run f",
			"30ms flush e", "30ms flush f")
	})
}

func TestFlushAdapts(t *testing.T) {
	bubble(t, policy(stage.Adaptive), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		refs := busy(s, j, 2*ms, "a", "b", "c", "d", "e")
		gate(s, func() {
			for _, r := range refs {
				r.Tell(1)
			}
		})
		time.Sleep(100 * ms)
		refs[0].Tell(1) // no mailbox waits, so the output is flushed at once
		time.Sleep(100 * ms)
		j.want(t, "0s run a", "2ms run b", "4ms run c", "6ms flush a", "6ms flush b", "6ms flush c",
			"6ms run d", "8ms run e", "10ms flush d", "10ms flush e", "100ms run a", "102ms flush a")
	})
}

// A single mailbox with many messages must not delay the flush either.
func TestALongRunPausesForTheFlush(t *testing.T) {
	for _, data := range []bool{false, true} {
		bubble(t, policy(stage.Adaptive), func(t *testing.T, s *stagetest.Stage) {
			j := newJournal()
			n := 0
			ref := s.Spawn(&probe{OnReceive: func(c *stage.Context, _ any) {
				if n++; n%64 == 1 {
					c.Dirty(out{"a", j})
				}
				time.Sleep(50 * time.Microsecond)
			}})
			other := s.Spawn(new(probe))
			gate(s, func() {
				for i := range 128 {
					if data {
						_ = ref.Post(i, 0)
					} else {
						ref.Tell(i)
					}
				}
				other.Tell("waits")
			})
			time.Sleep(sec)
			if data { // the policy is checked after each batch of 32
				j.want(t, "6.4ms flush a", "6.4ms flush a")
			} else {
				j.want(t, "5ms flush a", "5ms flush a")
			}
		})
	}
}

func TestYieldLetsANeighbourAnswerFirst(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		var neighbour *stage.Ref
		asker := &probe{OnReceive: func(c *stage.Context, msg any) {
			if msg == "ask" {
				neighbour.Tell("question")
				c.Yield()
			}
		}}
		ref := s.Spawn(asker)
		neighbour = s.Spawn(&probe{OnReceive: func(*stage.Context, any) { ref.Tell("answer") }})
		synctest.Wait()
		gate(s, func() {
			for _, m := range []any{1, "ask", 2, 3, "ask", 4} {
				_ = ref.Post(m, 0)
			}
			ref.Tell("control")
		})
		synctest.Wait()
		equal(t, "received", asker.Take(), started, "control", 1, "ask", "answer", 2, 3, "ask", "answer", 4)
	})
}

type bomb struct{}

func (bomb) Flush() { panic("no way out") }

func TestAPanicInFlushIsContained(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		ref := s.Spawn(new(probe))
		ref.Tell(do(func(c *stage.Context) {
			c.Dirty(out{"a", j})
			c.Dirty(bomb{})
			c.Dirty(out{"b", j})
		}))
		j.want(t, "0s flush a", "0s flush b")
		if !ref.Tell("still there") {
			t.Error("the actor is gone")
		}
		s.Panics = 1
	})
}

func TestCloseFlushesCollectedOutput(t *testing.T) {
	bubble(t, policy(time.Hour), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		s.Spawn(new(probe)).Tell(do(func(c *stage.Context) { c.Dirty(out{"a", j}) }))
		synctest.Wait()
		s.Close()
		s.Stage.Close() // again
		synctest.Wait()
		if _, what, _ := strings.Cut(strings.Join(j.lines, ", "), " "); what != "flush a" {
			t.Errorf("%q", j.lines)
		}
	})
}

// The watch checks every 10 ms, and takes the shard at the second check.
func TestAnActorThatHoldsUpItsWorkerLosesIt(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		var inside atomic.Int32
		slow := &probe{OnReceive: func(c *stage.Context, msg any) {
			assert.Equal(t, "one mailbox runs twice", inside.Add(1), 1)
			defer inside.Add(-1)
			if d, ok := msg.(time.Duration); ok {
				c.Dirty(out{"before", j})
				time.Sleep(d / 2)
				c.Dirty(out{"between", j})
				time.Sleep(d / 2)
				c.Dirty(out{"after", j})
			}
		}}
		held, quick := s.Spawn(slow), s.Spawn(&probe{OnReceive: func(_ *stage.Context, msg any) { j.note(fmt.Sprint(msg)) }})
		synctest.Wait()
		_ = held.Post(100*ms, 0)
		synctest.Wait()
		quick.Tell("quick")
		for i := range 100 { // these wait for the slow message, in order
			if i%3 == 0 {
				held.TellInOrder(i)
			} else {
				_ = held.Post(i, 0)
			}
			time.Sleep(ms / 4)
		}
		quick.Tell("quick again")
		time.Sleep(sec)
		j.want(t, "20ms quick", "20ms flush before", "25ms quick again", "50ms flush between", "100ms flush after")
		got := slow.Take()[2:]
		for i := range 100 {
			if got[i] != i {
				t.Fatalf("received %v", got)
			}
		}
	})
}

// Output that other actors have marked dirty is flushed even if no mailbox waits.
func TestABlockedWorkerDoesNotDelayOutput(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		ref, slow := busy(s, j, 0, "a")[0], s.Spawn(new(probe))
		synctest.Wait()
		ref.Tell(1)
		synctest.Wait()
		slow.Tell(do(func(c *stage.Context) {
			time.Sleep(100 * ms)
			c.Dirty(out{"slow", j})
			time.Sleep(100 * ms)
		}))
		time.Sleep(sec)
		j.want(t, "0s run a", "20ms flush a", "105ms flush slow")
	})
}

// slowOut is a flusher that reports concurrent calls of Flush.
type slowOut struct {
	out
	inside atomic.Int32
}

func (o *slowOut) Flush() {
	if o.inside.Add(1) != 1 {
		o.j.note("two flushes at once")
	}
	o.out.Flush()
	time.Sleep(30 * ms)
	o.inside.Add(-1)
}

func TestFlushesDoNotOverlap(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		f := &slowOut{out: out{"a", j}}
		s.Spawn(new(probe)).Tell(do(func(c *stage.Context) {
			c.Dirty(f)
			time.Sleep(40 * ms) // loses the shard after 20 ms; the new worker flushes
			c.Dirty(f)
			j.note("end")
		}))
		time.Sleep(sec)
		j.want(t, "20ms flush a", "40ms end", "50ms flush a")
	})
}

// Several workers are blocked one after the other. The shard continues, and Close waits for all of them.
func TestManyBlockedWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		j := newJournal()
		var refs []*stage.Ref
		for i := range 5 {
			ref := s.Spawn(&probe{OnReceive: func(*stage.Context, any) {
				j.note(fmt.Sprint("begin ", i))
				time.Sleep(sec)
				j.note(fmt.Sprint("end ", i))
			}})
			refs = append(refs, ref)
		}
		synctest.Wait()
		for _, r := range refs {
			r.Tell(1)
		}
		time.Sleep(100 * ms)
		for _, r := range refs {
			r.Stop()
		}
		s.Stage.Close()
		j.want(t, "0s begin 0", "20ms begin 1", "40ms begin 2", "60ms begin 3", "80ms begin 4",
			"1s end 0", "1.02s end 1", "1.04s end 2", "1.06s end 3", "1.08s end 4")
	})
}

func TestPostRunRunsInTheCaller(t *testing.T) {
	for _, interval := range []time.Duration{0, stage.Adaptive} {
		bubble(t, policy(interval), func(t *testing.T, s *stagetest.Stage) {
			j := newJournal()
			end := s.Spawn(new(probe))
			ref := busy(s, j, ms, "a")[0]
			passOn := s.Spawn(&probe{OnReceive: func(_ *stage.Context, msg any) { end.Tell(msg); _ = ref.Post(msg, 0) }})
			synctest.Wait()
			err := passOn.PostRun("x", 0)
			// No other goroutine had to run for this.
			if got := len(j.lines); err != nil || got != 2 {
				t.Errorf("%d lines: %v", got, err)
			}
			j.want(t, "0s run a", "1ms flush a")
			_ = ref.Post("y", 0) // the shard's own worker still works
			time.Sleep(sec)
			j.want(t, "0s run a", "1ms flush a", "1ms run a", "2ms flush a")
		})
	}
}

// With a flush interval, the poster runs the mailbox, and the dedicated worker flushes at the next turn. That
// includes output added later, and output added after a flush.
func TestPostRunLeavesTheFlushToTheInterval(t *testing.T) {
	bubble(t, policy(15*ms), func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		refs := busy(s, j, ms, "a", "b")
		_ = refs[0].PostRun(1, 0)
		_ = refs[1].PostRun(2, 0)
		assert.Equal(t, "since", time.Since(j.born), 2*ms)
		time.Sleep(28 * ms)
		_ = refs[0].PostRun(3, 0)
		time.Sleep(sec)
		j.want(t, "0s run a", "1ms run b", "15ms flush a", "15ms flush b", "30ms run a", "45ms flush a")
	})
}

func TestPostRunQueuesWhereItShould(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		ref := busy(s, j, ms, "a")[0]
		gate(s, func() {
			_ = ref.PostRun(1, 0) // the shard has an owner, so PostRun only queues the message
			_ = ref.PostRun(2, 0)
			assert.Equal(t, "it ran beside the shard's owner", len(j.lines), 0)
		})
		time.Sleep(sec)
		j.want(t, "0s run a", "1ms run a", "2ms flush a", "2ms flush a")
		full := s.SpawnAt(s.Stage.NewRef(counters.ActorProbe, stage.LaneLimits{MessagesMax: 1}), new(probe))
		synctest.Wait()
		gate(s, func() {
			_ = full.PostRun(1, 0)
			assert.Equal(t, "post", full.PostRun(2, 0), stage.ErrFull)
		})
		full.Stop()
		synctest.Wait()
		assert.Equal(t, "post", full.PostRun(3, 0), stage.ErrStopped)
	})
}

// A poster runs at most 16 mailboxes. The dedicated worker runs the rest.
func TestPostRunEnds(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		j := newJournal()
		var refs []*stage.Ref
		for i := range 40 {
			refs = append(refs, s.Spawn(&probe{OnReceive: func(_ *stage.Context, msg any) {
				time.Sleep(ms)
				if i+1 < 40 {
					refs[i+1].Tell(msg)
				} else {
					j.note("end")
				}
			}}))
		}
		synctest.Wait()
		_ = refs[0].PostRun("x", 0)
		assert.Equal(t, "back after", time.Since(j.born), 16*ms)
		time.Sleep(sec)
		j.want(t, "40ms end")
	})
}

func TestABlockedPosterLosesTheShard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stagetest.Start(t, nil)
		j := newJournal()
		held := s.Spawn(&probe{OnReceive: func(c *stage.Context, msg any) {
			j.note(fmt.Sprint("begin ", msg))
			c.Dirty(out{"before", j})
			time.Sleep(50 * ms)
			c.Dirty(out{"between", j})
			time.Sleep(50 * ms)
			j.note(fmt.Sprint("end ", msg))
		}})
		quick := s.Spawn(&probe{OnReceive: func(_ *stage.Context, msg any) { j.note(fmt.Sprint(msg)) }})
		synctest.Wait()
		back := make(chan struct{})
		go func() {
			defer close(back)
			_ = held.PostRun(1, 0)
			j.note("poster is back")
		}()
		synctest.Wait()
		_ = held.Post(2, 0)
		quick.Tell("quick")
		time.Sleep(30 * ms)
		_ = quick.PostRun("quick again", 0)
		time.Sleep(20 * ms)
		quick.Stop()
		time.Sleep(80 * ms)
		held.Tell(do(func(c *stage.Context) { c.StopSelf() }))
		s.Stage.Close() // also waits for the poster
		assert.Equal(t, "closed after", time.Since(j.born), 200*ms)
		<-back // at the same instant, in either order
		j.note("closed")
		time.Sleep(sec)
		j.want(t, "0s begin 1", "20ms quick", "20ms flush before", "30ms quick again", "50ms flush between",
			"100ms end 1", "100ms begin 2", "100ms flush before", "150ms flush between", "200ms end 2", "200ms poster is back", "200ms closed")
	})
}
