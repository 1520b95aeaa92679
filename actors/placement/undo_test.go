package placement

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/stage"
	"troupe/messages"
)

// later sends a request and returns where its error will be.
func later[Q, A any](w *world, q Q) *error {
	got := new(error)
	w.ref.Tell(stage.Request[Q, A]{Request: q, Reply: func(_ A, err error) { *got = err }})
	synctest.Wait()
	return got
}

func TestChangesOfAQueueThatFailOnTopOfEachOtherLeaveNothing(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.queue(messages.Queue{Name: "q", Timeout: time.Minute})
		w.store.stop()
		w.store.fail.Store(true)
		text := "text"
		first := later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Timeout: time.Hour})
		second := later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", CustomEventData: &text})
		w.store.release()
		synctest.Wait()
		all, err := request[Queues, []*messages.Queue](w, Queues{})
		if *first == nil || *second == nil || err != nil || all[0].Timeout != time.Minute || all[0].CustomEventData != "" {
			t.Errorf("%v and %v leave %+v, %v", *first, *second, all[0], err)
		}
	})
}

// A change that follows a refused one does not include it.
func TestAChangeOfAQueueBehindOneThatIsNotStored(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.queue(messages.Queue{Name: "q", Timeout: time.Minute})
		w.store.stop()
		w.store.fail.Store(true)
		text := "text"
		first := later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Timeout: time.Hour})
		second := later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", CustomEventData: &text})
		w.store.next()
		w.store.fail.Store(false)
		w.store.release()
		synctest.Wait()
		all, err := request[Queues, []*messages.Queue](w, Queues{})
		if *first == nil || *second != nil || err != nil || all[0].Timeout != time.Minute || all[0].CustomEventData != text {
			t.Errorf("%v and %v leave %+v, %v", *first, *second, all[0], err)
		}
		w.die()
		w.open()
		if all, err = request[Queues, []*messages.Queue](w, Queues{}); err != nil || all[0].Timeout != time.Minute || all[0].CustomEventData != text {
			t.Errorf("stored is %+v, %v", all[0], err)
		}
	})
}

func TestChangesOfAQueueThatWaitAreBounded(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.queue(messages.Queue{Name: "q", Timeout: time.Minute})
		w.store.stop()
		var answers []*error
		for range 20 {
			answers = append(answers, later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Timeout: time.Hour}))
		}
		dropped := later[DropQueue, stage.None](w, DropQueue{"q"})
		w.store.release()
		synctest.Wait()
		refused := 0
		for _, err := range append(answers, dropped) {
			if *err != nil {
				refused++
			}
		}
		if refused != 21-17 {
			t.Errorf("%d are refused", refused)
		}
	})
}

// A queue whose creation the store refuses cannot be deleted, and may be created again.
func TestAQueueThatWasNotStoredIsNotDeleted(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.store.stop()
		w.store.fail.Store(true)
		made := later[NewQueue, *messages.Queue](w, NewQueue{messages.Queue{Name: "q", Timeout: time.Minute}})
		dropped := later[DropQueue, stage.None](w, DropQueue{"q"})
		w.store.next()
		w.store.fail.Store(false)
		w.store.release()
		w.queue(messages.Queue{Name: "q", Timeout: time.Hour})
		all, err := request[Queues, []*messages.Queue](w, Queues{})
		if *made == nil || !errors.Is(*dropped, &messages.Error{Code: messages.NotFound}) || err != nil || len(all) != 1 {
			t.Errorf("%v and %v leave %v, %v", *made, *dropped, all, err)
		}
	})
}

// next completes the first held commit.
func (f *flaky) next() {
	f.mu.Lock()
	first := f.held[0]
	f.held = f.held[1:]
	f.mu.Unlock()
	first()
	synctest.Wait()
}

// While a change of a queue is being stored, and after it was refused, the API shows the queue
// without it.
func TestNoChangeOfAQueueIsShownBeforeItIsDurable(t *testing.T) {
	for name, change := range map[string]func(w *world) *error{
		"CreateGameSessionQueue": func(w *world) *error {
			return later[NewQueue, *messages.Queue](w, NewQueue{messages.Queue{Name: "r", Timeout: time.Minute}})
		},
		"UpdateGameSessionQueue": func(w *world) *error {
			return later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Timeout: time.Hour})
		},
		"DeleteGameSessionQueue": func(w *world) *error { return later[DropQueue, stage.None](w, DropQueue{"q"}) },
		"TagResource": func(w *world) *error {
			return later[messages.UpdateTags, map[string]string](w, messages.UpdateTags{Resource: messages.Resource{Kind: "gamesessionqueue", ID: "q"}, Set: map[string]string{"a": "b"}})
		},
		"StopGameSessionPlacement": func(w *world) *error {
			return later[StopPlacement, *messages.Placement](w, StopPlacement{"p"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, w *world) {
				w.queue(messages.Queue{Name: "q", Timeout: time.Minute})
				w.placed(messages.StartPlacement{ID: "p"})
				state := func() string {
					all, err := request[Queues, []*messages.Queue](w, Queues{})
					text, bad := json.Marshal([]any{all, w.get("p")})
					if err != nil || bad != nil {
						t.Fatal(err, bad)
					}
					return string(text)
				}
				before := state()
				w.store.stop()
				w.store.fail.Store(true)
				err := change(w)
				if now := state(); now != before {
					t.Errorf("on its way to the store: %s, before it %s", now, before)
				}
				w.store.release()
				synctest.Wait()
				if now := state(); now != before || code(*err) != messages.Internal {
					t.Errorf("refused with %v: %s, before it %s", *err, now, before)
				}
				w.store.fail.Store(false)
				if err = change(w); *err != nil || state() == before {
					t.Errorf("%v, and shown is %s", *err, state())
				}
			})
		})
	}
}
