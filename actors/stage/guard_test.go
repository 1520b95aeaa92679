package stage_test

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/messages/counters"
)

type (
	probe = stagetest.Probe
	do    = stagetest.Do
)

var (
	started = stagetest.Started{}
	stopped = stagetest.Stopped{}
)

// bubble runs a test in virtual time with a stage that is closed at the end of the test.
func bubble(t *testing.T, change func(*stage.Options), test func(t *testing.T, s *stagetest.Stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		s := stagetest.Start(t, change)
		test(t, s)
		s.Close()
	})
}

func equal(t *testing.T, what string, got []any, want ...any) {
	t.Helper()
	if !slices.EqualFunc(got, want, func(a, b any) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// letter is a message that records when it becomes a dead letter.
type letter struct {
	id   int
	lost *[]int
}

func (l letter) OnDeadLetter() { *l.lost = append(*l.lost, l.id) }

func ids(msgs []any) (ids []int) {
	for _, m := range msgs {
		if l, ok := m.(letter); ok {
			ids = append(ids, l.id)
		}
	}
	return ids
}

func TestMessagesSentBeforeTheSpawnComeAfterStarted(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		ref, p := s.NewRef(), new(probe)
		_ = ref.Post("data", 0)
		ref.TellInOrder("ordered")
		ref.Tell("control")
		synctest.Wait()
		s.SpawnAt(ref, p)
		synctest.Wait()
		equal(t, "received", p.Take(), started, "control", "data", "ordered")
	})
}

// Control messages even overtake data that the worker has already taken from the mailbox.
func TestControlGoesBeforeDataThatIsTaken(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		ref := s.NewRef()
		p := &probe{OnReceive: func(c *stage.Context, msg any) {
			if msg == "first" {
				c.Self().Tell("control")
				c.Self().TellInOrder("last")
			}
		}}
		for _, m := range []string{"first", "second", "third"} {
			_ = ref.Post(m, 0)
		}
		s.SpawnAt(ref, p)
		synctest.Wait()
		equal(t, "received", p.Take(), started, "first", "control", "second", "third", "last")
	})
}

func TestStopFromOutsideEndsAfterTheCurrentMessage(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		var lost []int
		ref := s.NewRef()
		p := &probe{OnReceive: func(c *stage.Context, msg any) {
			if msg.(letter).id == 2 {
				ref.Stop()
				ref.Stop()
				ref.Tell(letter{100, &lost}) // the actor has not begun to stop yet
			}
		}}
		for id := range 10 {
			_ = ref.Post(letter{id, &lost}, 0)
		}
		s.SpawnAt(ref, p)
		synctest.Wait()
		assert.List(t, "received", ids(p.Take()), []int{0, 1, 2})
		slices.Sort(lost)
		assert.List(t, "dead letters", lost, []int{3, 4, 5, 6, 7, 8, 9, 100})
	})
}

func TestStopSelfMakesWaitingMessagesDeadLetters(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		var lost []int
		ref := s.NewRef()
		p := &probe{OnReceive: func(c *stage.Context, msg any) {
			if msg.(letter).id == 40 { // in the middle of the second batch
				c.Self().Tell(letter{200, &lost})
				c.StopSelf()
				c.StopSelf()
				if ref.Tell(letter{201, &lost}) || ref.TellInOrder(letter{202, &lost}) {
					t.Error("a stopping actor takes messages")
				}
				if err := ref.Post(letter{203, &lost}, 0); err != stage.ErrStopped {
					t.Errorf("post: %v", err) // after an error, the letter still belongs to the caller
				}
			}
		}}
		for id := range 100 {
			_ = ref.Post(letter{id, &lost}, 0)
		}
		s.SpawnAt(ref, p)
		synctest.Wait()
		if ref.Tell(letter{204, &lost}) {
			t.Error("a stopped actor takes messages")
		}
		ref.Stop() // does nothing
		var want []int
		for id := range 41 {
			want = append(want, id)
		}
		assert.List(t, "received", ids(p.Take()), want)
		want = want[:0]
		for id := 41; id < 100; id++ {
			want = append(want, id)
		}
		want = append(want, 200, 201, 202, 204)
		slices.Sort(lost)
		assert.List(t, "dead letters", lost, want)
	})
}

func TestStopBeforeTheSpawnStopsTheActor(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		var lost []int
		ref, p := s.NewRef(), new(probe)
		ref.Tell(letter{1, &lost})
		ref.Stop()
		ref.Tell(letter{2, &lost})
		s.SpawnAt(ref, p)
		synctest.Wait()
		equal(t, "received", p.Take(), started, stopped)
		assert.List(t, "dead letters", lost, []int{1, 2})
	})
}

// The parent receives the last messages of the child first, and then Exited, once.
func TestExitedComesLastAndOnce(t *testing.T) {
	for _, crash := range []string{"", "oh no"} {
		bubble(t, func(o *stage.Options) { o.Shards = 2 }, func(t *testing.T, s *stagetest.Stage) {
			parent := new(probe)
			up := s.Spawn(parent)
			child := s.NewRef()
			actor := &probe{OnReceive: func(c *stage.Context, msg any) {
				up.Tell("last words")
				if crash != "" {
					panic(crash)
				}
				c.StopSelf()
			}, OnStopped: func(*stage.Context) {
				time.Sleep(time.Second) // takes long to release its resources
				up.Tell("released")
			}}
			up.Tell(do(func(c *stage.Context) {
				c.Spawn(child, actor)
				assert.Equal(t, "not counted", c.Children(), 1)
			}))
			child.Tell("go")
			time.Sleep(2 * time.Second)
			equal(t, "parent", parent.Take(), started, "last words", "released", stage.Exited{Ref: child, Crash: crash})
			equal(t, "child", actor.Take(), started, "go", stopped)
			up.Tell(do(func(c *stage.Context) {
				assert.Equal(t, "still counted", c.Children(), 0)
			}))
			synctest.Wait()
			if crash != "" {
				s.Panics = 1
			}
		})
	}
}

func TestPanics(t *testing.T) {
	boom := func(*stage.Context) { panic("boom") }
	for name, c := range map[string]struct {
		actor  *probe
		panics int64
		got    []any
	}{
		"started":         {&probe{OnStarted: boom}, 1, []any{started, stopped}},
		"receive":         {&probe{OnReceive: func(*stage.Context, any) { panic("boom") }}, 1, []any{started, 0, stopped}},
		"stopped":         {&probe{OnReceive: func(c *stage.Context, _ any) { c.StopSelf() }, OnStopped: boom}, 1, []any{started, 0, stopped}},
		"twice":           {&probe{OnStarted: boom, OnStopped: func(*stage.Context) { panic("again") }}, 2, []any{started, stopped}},
		"after stop self": {&probe{OnReceive: func(c *stage.Context, _ any) { c.StopSelf(); panic("boom") }}, 1, []any{started, 0, stopped}},
		"no text": {&probe{OnReceive: func(c *stage.Context, _ any) {
			panic(fmt.Errorf("%s", "boom"))
		}}, 1, []any{started, 0, stopped}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
				var lost []int
				parent, child := new(probe), s.NewRef()
				for i := range 5 {
					child.TellInOrder(i)
				}
				child.TellInOrder(letter{7, &lost})
				s.Spawn(parent).Tell(do(func(ctx *stage.Context) { ctx.Spawn(child, c.actor) }))
				synctest.Wait()
				equal(t, "child", c.actor.Take(), c.got...)
				equal(t, "parent", parent.Take(), started, stage.Exited{Ref: child, Crash: "boom"})
				assert.List(t, "dead letters", lost, []int{7})
				s.Panics = c.panics
			})
		})
	}
}

func TestAPanicWithoutTextIsStillACrash(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		parent, child := new(probe), s.NewRef()
		s.Spawn(parent).Tell(do(func(c *stage.Context) { c.Spawn(child, new(probe)) }))
		child.Tell(stage.Panic{})
		if e := stagetest.Await[stage.Exited](t, parent, time.Second); e.Crash == "" {
			t.Error("it looks like an orderly stop")
		}
		s.Panics = 1
	})
}

func TestAPanicWhileChildrenStop(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		top := new(probe)
		up := s.Spawn(top)
		middle, bottom := s.NewRef(), s.NewRef()
		child := &probe{OnStopped: func(*stage.Context) {
			time.Sleep(time.Second)
			panic("below")
		}}
		parent := &probe{OnStarted: func(c *stage.Context) { c.Spawn(bottom, child) }, OnStopped: func(*stage.Context) { panic("above") }}
		up.Tell(do(func(c *stage.Context) { c.Spawn(middle, parent) }))
		synctest.Wait()
		middle.Tell(stage.Panic{Text: "first"})
		time.Sleep(2 * time.Second)
		equal(t, "child", child.Take(), started, stopped)
		equal(t, "parent", parent.Take(), started, stopped) // a stopping parent receives nothing more
		equal(t, "top", top.Take(), started, stage.Exited{Ref: middle, Crash: "first"})
		s.Panics = 3
	})
}

func TestStoppedRunsAfterTheChildrenStopped(t *testing.T) {
	bubble(t, func(o *stage.Options) { o.Shards = 3 }, func(t *testing.T, s *stagetest.Stage) {
		var order []string
		slow := func(name string) *probe {
			return &probe{OnStopped: func(*stage.Context) { time.Sleep(time.Second); order = append(order, name) }}
		}
		parent := slow("parent")
		ref := s.Spawn(parent)
		child := slow("child")
		ref.Tell(do(func(c *stage.Context) { c.Spawn(s.NewRef(), child) }))
		synctest.Wait()
		ref.Stop()
		time.Sleep(3 * time.Second)
		synctest.Wait()
		assert.List(t, "stopped", order, []string{"child", "parent"})
	})
}

func TestRootCrash(t *testing.T) {
	var reasons []string
	bubble(t, func(o *stage.Options) {
		o.OnRootCrash = func(r string) { reasons = append(reasons, r) }
	}, func(t *testing.T, s *stagetest.Stage) {
		var lost []int
		root := s.Spawn(new(probe))
		root.Tell(do(func(c *stage.Context) {
			c.Self().Tell(letter{1, &lost})
			c.Spawn(s.NewRef(), &probe{OnStarted: func(*stage.Context) { panic("a child's") }})
		}))
		synctest.Wait()
		if len(reasons) != 0 {
			t.Errorf("a child's crash is the root's: %v", reasons)
		}
		root.Tell(stage.Panic{Text: "the end"})
		synctest.Wait()
		assert.List(t, "told", reasons, []string{"the end"})
		s.Panics = 2
	})
}

func TestSpawnRefusesWhatWouldLeak(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		var lost []int
		late := s.NewRef()
		late.Tell(letter{1, &lost})
		ref := s.Spawn(&probe{OnStopped: func(c *stage.Context) { c.Spawn(late, new(probe)) }})
		ref.Stop()
		synctest.Wait()
		assert.List(t, "dead letters", lost, []int{1})
		again := s.Spawn(&probe{OnStarted: func(c *stage.Context) { c.Spawn(ref, new(probe)) }})
		synctest.Wait()
		if again.Tell("x") {
			t.Error("a Ref got a second actor")
		}
		s.Panics = 2
	})
}

func TestLiveCountsUntilStoppedIsOver(t *testing.T) {
	bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
		ref := s.Spawn(&probe{OnStopped: func(*stage.Context) { time.Sleep(time.Second) }})
		assert.Equal(t, "live", s.Live(counters.ActorProbe), 1)
		ref.Stop()
		time.Sleep(time.Second - 1)
		assert.Equal(t, "live while it stops", s.Live(counters.ActorProbe), 1)
		time.Sleep(1)
		synctest.Wait()
		assert.Equal(t, "live", s.Live(counters.ActorProbe), 0)
	})
}

// A Ref does not keep a stopped actor in memory. The actor of a game session may use megabytes.
func TestARefFreesAStoppedActor(t *testing.T) {
	for name, end := range map[string]any{
		"stopped": do(func(c *stage.Context) { c.StopSelf() }),
		"crashed": stage.Panic{Text: "on purpose"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, s *stagetest.Stage) {
				if name == "crashed" {
					s.Panics = 1
				}
				p := new(probe)
				parent, ref, kept := s.Spawn(new(probe)), s.NewRef(), weak.Make(p)
				parent.Tell(do(func(c *stage.Context) { c.Spawn(ref, p) }))
				ref.Tell(end)
				synctest.Wait()
				stagetest.Await[stagetest.Stopped](t, p, 0)
				p = nil
				for range 3 { // memory with weak pointers is freed only after several collections
					runtime.GC()
				}
				if kept.Value() != nil {
					t.Error("the actor is still there")
				}
				runtime.KeepAlive(ref)
			})
		})
	}
}
