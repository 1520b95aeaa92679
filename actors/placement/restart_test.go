package placement

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/rebuild"
	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
	"troupe/actors/store"
	"troupe/messages"
)

// die ends a process together with its game sessions and pending work.
func (w *world) die() {
	w.ref.Stop()
	synctest.Wait()
	w.with(func(s *standIn) {
		for _, g := range s.made {
			if !g.over {
				g.over = true
				s.room[g.at]++
			}
		}
		s.watchers = nil
	})
}

// crash makes the Manager panic.
func (w *world) crash() {
	synctest.Wait()
	if w.parent.Child().Tell(stage.Panic{Text: "the test wants it"}) {
		w.stage.Panics++
	}
	synctest.Wait() // requests that arrive while the Manager dies are refused
}

// After a restart, placements continue with a new game session, or end once. Their time counts from the original start.
func TestRestart(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}, Timeout: 60 * time.Second})
		w.queue(messages.Queue{Name: "short", Timeout: 20 * time.Second})
		w.free("A/a-1", 1)
		w.placed(messages.StartPlacement{ID: "fulfilled"})
		synctest.Wait()
		w.with(func(s *standIn) { s.activate = -1 })
		w.free("A/a-1", 1)
		w.placed(messages.StartPlacement{ID: "activating"})
		w.placed(messages.StartPlacement{ID: "idle"})
		w.placed(messages.StartPlacement{ID: "over", Queue: "short"})
		w.placed(messages.StartPlacement{ID: "stopped"})
		assert.OK(w.cancel("stopped"))(t)
		synctest.Wait()
		before := w.get("fulfilled")
		w.die()
		time.Sleep(30 * time.Second)
		w.with(func(s *standIn) { s.activate = 0 })
		w.open()
		synctest.Wait()
		if p := w.want("fulfilled", messages.PlacementFulfilled); p.GameSessionID != before.GameSessionID || !p.Ended.Equal(before.Ended) {
			t.Fatalf("%+v", p)
		}
		w.want("stopped", messages.PlacementCancelled)
		p := w.want("activating", messages.PlacementFulfilled)
		if p.Ended.Sub(p.Started) != 30*time.Second {
			t.Fatalf("%+v", p)
		}
		w.want("idle", messages.PlacementFulfilled)
		if p := w.want("over", messages.PlacementTimedOut); p.Ended.Sub(p.Started) != 30*time.Second {
			t.Fatalf("%+v", p)
		}
		if live := w.live(); len(live) != 2 {
			t.Fatalf("%v live", live)
		}
		w.die()
		w.open()
		for id, status := range map[messages.PlacementID]messages.PlacementStatus{
			"fulfilled": messages.PlacementFulfilled, "over": messages.PlacementTimedOut, "idle": messages.PlacementFulfilled,
		} {
			w.want(id, status)
		}
	})
}

// The queue of a PENDING placement may have been removed from the configuration.
func TestRestartWithoutTheQueue(t *testing.T) {
	bubble(t, func(o *Options) { o.Queues = []*messages.Queue{{Name: "q", Timeout: time.Minute}} }, func(t *testing.T, w *world) {
		w.placed(messages.StartPlacement{ID: "p"})
		w.die()
		w.options.Queues = nil
		w.open()
		synctest.Wait()
		w.want("p", messages.PlacementFailed)
	})
}

// If a configured queue was changed or deleted through the API, that overrides the configuration.
func TestRestartOfAConfiguredQueue(t *testing.T) {
	bubble(t, func(o *Options) {
		o.Queues = []*messages.Queue{{Name: "q", Timeout: time.Minute}, {Name: "dropped", Timeout: time.Minute}, {Name: "plain", Timeout: time.Minute}}
	}, func(t *testing.T, w *world) {
		assert.OK(request[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Timeout: time.Hour}))(t)
		assert.NoError(t, w.drop("dropped"))
		for range 2 {
			w.die()
			w.options.Queues[2].Timeout *= 2
			w.open()
		}
		got := map[messages.QueueName]time.Duration{}
		all, err := request[messages.QueueQuery, []*messages.Queue](w, messages.QueueQuery{})
		for _, q := range all {
			got[q.Name] = q.Timeout
			assert.Equal(t, "a r n", q.ARN, "arn:aws:gamelift:us-east-1:000000000000:gamesessionqueue/"+string(q.Name))
		}
		if err != nil || len(got) != 2 || got["q"] != time.Hour || got["plain"] != 4*time.Minute {
			t.Fatal(got, err)
		}
		w.queue(messages.Queue{Name: "dropped", Timeout: 30 * time.Second})
		w.die()
		w.open()
		if all, err = request[messages.QueueQuery, []*messages.Queue](w, messages.QueueQuery{}); err != nil || len(all) != 3 {
			t.Fatal(all, err)
		}
	})
}

func TestARecordThatMakesNoSenseIsLeftOut(t *testing.T) {
	for _, kind := range []store.Kind{store.Queue, store.Placement} {
		for _, value := range []string{"{", "{}", "null"} {
			s := new(store.Memory)
			s.Commit([]store.Change{{Kind: kind, ID: "x", Value: []byte(value)}}, nil)
			s.Commit([]store.Change{store.Put(store.Queue, "good", messages.Queue{Name: "good", Timeout: time.Minute})}, nil)
			state, err := Load(s)
			if err != nil || len(state.Damaged()) != 1 || len(state.queues) != 1 || len(state.placements) != 0 {
				t.Errorf("%s %s: %+v, %v", kind, value, state, err)
			}
		}
	}
}

// A Manager that crashes is rebuilt. No acknowledged placement is lost, and attempts start again.
func TestCrash(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.free("A/a-1", 2)
		w.with(func(s *standIn) { s.activate = 10 * time.Second })
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}})
		w.placed(messages.StartPlacement{ID: "p"})
		synctest.Wait()
		first := w.get("p").GameSessionID
		w.crash()
		synctest.Wait()
		if live := w.live(); len(live) > 0 {
			t.Fatalf("%v live", live)
		}
		if p := w.get("p"); p.Status != messages.PlacementPending { // the request waits for the next Manager
			t.Fatal(p.Status)
		}
		stagetest.Pass(10*time.Second + rebuild.PauseMin)
		if p := w.want("p", messages.PlacementFulfilled); p.GameSessionID == first || first == "" {
			t.Fatalf("%q, before %q", p.GameSessionID, first)
		}
		// With repeated crashes, the pauses grow.
		began := time.Now()
		for range 5 {
			w.crash()
			w.get("p")
		}
		if took := time.Since(began); took != 100*time.Millisecond+200*time.Millisecond+400*time.Millisecond+800*time.Millisecond+1600*time.Millisecond &&
			took != 200*time.Millisecond+400*time.Millisecond+800*time.Millisecond+1600*time.Millisecond+3200*time.Millisecond {
			t.Fatalf("took %v", took)
		}
	})
}

// The Manager crashes while the end of a placement is being stored.
func TestCrashWhileEnding(t *testing.T) {
	for _, broken := range []bool{false, true} {
		bubble(t, nil, func(t *testing.T, w *world) {
			w.fleets("A a-1")
			w.free("A/a-1", 2)
			w.with(func(s *standIn) { s.activate = time.Second })
			w.queue(messages.Queue{Destinations: []string{"fleet/A"}})
			w.placed(messages.StartPlacement{ID: "p", Players: players("x")})
			w.store.Hold()
			w.store.Break(broken)
			stagetest.Pass(time.Second)
			w.crash()
			w.store.Break(false)
			w.store.Release()
			stagetest.Pass(3 * time.Second)
			p := w.want("p", messages.PlacementFulfilled)
			if live := w.live(); len(live) != 1 || live[0] != p.GameSessionID || (live[0] == "arn:game/0") == broken {
				t.Errorf("broken %v: %v live, it has %s", broken, live, p.GameSessionID)
			}
		})
	}
}

// A launch is answered after the crash. Its game session is ended.
func TestCrashWhileLaunching(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}})
		hosts := w.registry
		gameSessionLaunched{hosts: hosts, game: &messages.GameSession{ID: "arn:game/0"}}.OnDeadLetter()
		w.free("A/a-1", 1)
		w.with(func(s *standIn) { s.activate = -1 })
		w.placed(messages.StartPlacement{ID: "p"})
		synctest.Wait()
		if live := w.live(); len(live) != 1 {
			t.Fatalf("%v live", live)
		}
		gameSessionLaunched{hosts: hosts, game: &messages.GameSession{ID: "arn:game/0"}}.OnDeadLetter()
		if live := w.live(); len(live) != 0 {
			t.Fatalf("%v live", live)
		}
	})
}

// RL-21.
func TestStoreThatFails(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.fleets("A a-1")
		w.queue(messages.Queue{Destinations: []string{"fleet/A"}, Timeout: 10 * time.Second})
		w.store.Break(true)
		_, err := w.startPlacement(messages.StartPlacement{ID: "p"})
		wantCode(t, err, messages.Internal)
		_, err = request[messages.CreateQueue, *messages.Queue](w, messages.CreateQueue{Queue: messages.Queue{Name: "more", Timeout: time.Minute}})
		wantCode(t, err, messages.Internal)
		_, err = request[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Timeout: time.Hour})
		wantCode(t, err, messages.Internal)
		wantCode(t, w.drop("q"), messages.Internal)
		w.store.Break(false)
		all, err := request[messages.QueueQuery, []*messages.Queue](w, messages.QueueQuery{})
		if err != nil || len(all) != 1 || all[0].Timeout != 10*time.Second {
			t.Fatal(all, err)
		}
		w.placed(messages.StartPlacement{ID: "p"})
		synctest.Wait()
		w.store.Break(true)
		_, err = w.cancel("p")
		wantCode(t, err, messages.Internal)
		wantCode(t, w.drop("q"), messages.Internal)
		w.want("p", messages.PlacementPending)
		w.free("A/a-1", 1) // the end of the placement cannot be stored
		synctest.Wait()
		w.want("p", messages.PlacementPending)
		if live := w.live(); len(live) > 0 {
			t.Fatalf("%v live", live)
		}
		time.Sleep(12 * time.Second)
		w.want("p", messages.PlacementPending)
		w.store.Break(false)
		stagetest.Pass(time.Second)
		w.want("p", messages.PlacementTimedOut)
	})
}

// With random failures, each acknowledged placement ends exactly once, at the latest one second after its timeout. Each
// running game session belongs to a FULFILLED placement. RL-19, RL-20.
func TestEveryPlacementEndsOnce(t *testing.T) {
	seeds := 40
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		bubble(t, nil, func(t *testing.T, w *world) { chaos(t, w, rand.New(rand.NewPCG(1, uint64(seed)))) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func chaos(t *testing.T, w *world, r *rand.Rand) {
	w.fleets("A a-1,b-1", "B b-1", "C c-1")
	places := []string{"A/a-1", "A/b-1", "B/b-1", "C/c-1"}
	w.with(func(s *standIn) { s.broken[destination{"C", "c-1"}] = r.IntN(2) == 0 })
	for i := range 3 {
		q := messages.Queue{Name: messages.QueueName(fmt.Sprint("q", i)), Timeout: time.Duration(10+r.IntN(5)) * time.Second}
		for _, d := range r.Perm(3)[:1+r.IntN(3)] {
			q.Destinations = append(q.Destinations, "fleet/"+string(rune('A'+d)))
		}
		if r.IntN(2) == 0 {
			q.Policies = []messages.LatencyPolicy{policy(50, 5*time.Second)}
		}
		w.queue(q)
	}
	var started []messages.PlacementID
	dropped := false
	for i := range 120 {
		switch n := r.IntN(20); {
		case n < 9:
			id := messages.PlacementID(fmt.Sprint("p", i))
			_, err := w.startPlacement(messages.StartPlacement{
				ID: id, Queue: messages.QueueName(fmt.Sprint("q", r.IntN(3))), Players: players("x", "y")[:r.IntN(3)],
				Latencies: latenciesOf(t, fmt.Sprintf("x a-1 %d", r.IntN(100))),
			})
			if err == nil {
				started = append(started, id)
			}
		case n < 12:
			w.free(places[r.IntN(len(places))], 1+r.IntN(3))
		case n < 14 && len(started) > 0:
			_, _ = w.cancel(started[r.IntN(len(started))])
		case n == 14:
			w.with(func(s *standIn) { s.activate = time.Duration(r.IntN(4)) * 700 * time.Millisecond })
		case n == 15:
			w.store.Break(true)
			time.Sleep(time.Duration(r.IntN(3000)) * time.Millisecond)
			w.store.Break(false)
		case n == 16 && r.IntN(4) == 0 && w.stage.Panics < 3:
			synctest.Wait()
			w.crash()
		case n == 17 && r.IntN(4) == 0:
			synctest.Wait()
			w.die()
			time.Sleep(time.Duration(r.IntN(5000)) * time.Millisecond)
			w.open()
		case n == 18 && i > 100 && !dropped:
			dropped = w.drop("q0") == nil
		default:
			time.Sleep(time.Duration(r.IntN(1500)) * time.Millisecond)
		}
	}
	stagetest.Pass(40 * time.Second)
	kept := map[messages.GameSessionID]bool{}
	for _, id := range started {
		p := w.get(id)
		if !p.Status.Final() {
			t.Errorf("%s is %s", id, p.Status)
		}
		if told := w.told(id); len(told) != 1 || told[0] != eventTypes[p.Status] {
			t.Errorf("%s is %s, events %v", id, p.Status, told)
		}
		if p.Status == messages.PlacementFulfilled {
			if kept[p.GameSessionID] {
				t.Errorf("%s has a game session of another", id)
			}
			kept[p.GameSessionID] = true
		}
	}
	for _, id := range w.live() {
		if !kept[id] {
			t.Errorf("game session %s lives for no placement", id)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	stored := 0
	_, _ = w.store.Load(store.Event, func(string, []byte) error { stored++; return nil })
	assert.Equal(t, "events stored, told", stored, len(w.events))
}
