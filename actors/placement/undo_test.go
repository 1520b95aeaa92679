package placement

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/actorstest/assert"
	"troupe/actors/stage"
	"troupe/messages"
)

// later sends a request. It returns a pointer to which the error of the answer is written.
func later[Q messages.RequestOf[A], A any](w *world, q Q) *error {
	got := new(error)
	messages.Send(w.ref, q, func(_ A, err error) { *got = err })
	synctest.Wait()
	return got
}

// A change that follows a refused change must not contain the refused one.
func TestChangesOfAQueueBehindOneThatIsNotStored(t *testing.T) {
	for _, both := range []bool{true, false} {
		bubble(t, nil, func(t *testing.T, w *world) {
			w.queue(messages.Queue{Name: "q", Timeout: time.Minute})
			w.store.Hold()
			w.store.Break(true)
			first := later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Timeout: time.Hour})
			w.store.Break(both)
			second := later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", CustomEventData: new("text")})
			w.store.Release()
			w.store.Break(false)
			text := "text"
			if both {
				text = ""
			}
			for range 2 { // first as shown now, then after a restart
				all, err := request[messages.QueueQuery, []*messages.Queue](w, messages.QueueQuery{})
				if *first == nil || (*second != nil) != both || err != nil || all[0].Timeout != time.Minute || all[0].CustomEventData != text {
					t.Errorf("%v and %v leave %+v, %v", *first, *second, all[0], err)
				}
				w.die()
				w.open()
			}
		})
	}
}

func TestChangesOfAQueueThatWaitAreBounded(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.queue(messages.Queue{Name: "q", Timeout: time.Minute})
		w.store.Hold()
		var answers []*error
		for range 20 {
			answers = append(answers, later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Timeout: time.Hour}))
		}
		dropped := later[messages.DeleteQueue, stage.None](w, messages.DeleteQueue{Name: "q"})
		w.store.Release()
		refused := 0
		for _, err := range append(answers, dropped) {
			if *err != nil {
				refused++
			}
		}
		assert.Equal(t, "are refused", refused, 21-17)
	})
}

// A queue whose creation the store has refused cannot be deleted, and may be created again.
func TestAQueueThatWasNotStoredIsNotDeleted(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.store.Hold()
		w.store.Break(true)
		made := later[messages.CreateQueue, *messages.Queue](w, messages.CreateQueue{Queue: messages.Queue{Name: "q", Timeout: time.Minute}})
		w.store.Break(false)
		dropped := later[messages.DeleteQueue, stage.None](w, messages.DeleteQueue{Name: "q"})
		w.store.Release()
		w.queue(messages.Queue{Name: "q", Timeout: time.Hour})
		all, err := request[messages.QueueQuery, []*messages.Queue](w, messages.QueueQuery{})
		if *made == nil || !errors.Is(*dropped, &messages.Error{Code: messages.NotFound}) || err != nil || len(all) != 1 {
			t.Errorf("%v and %v leave %v, %v", *made, *dropped, all, err)
		}
	})
}

// While a change of a queue is being stored, and after the store has refused it, the API shows the queue without the
// change.
func TestNoChangeOfAQueueIsShownBeforeItIsDurable(t *testing.T) {
	for name, change := range map[string]func(w *world) *error{
		"CreateGameSessionQueue": func(w *world) *error {
			return later[messages.CreateQueue, *messages.Queue](w, messages.CreateQueue{Queue: messages.Queue{Name: "r", Timeout: time.Minute}})
		},
		"UpdateGameSessionQueue": func(w *world) *error {
			return later[messages.UpdateQueue, *messages.Queue](w, messages.UpdateQueue{Name: "q", Timeout: time.Hour})
		},
		"DeleteGameSessionQueue": func(w *world) *error {
			return later[messages.DeleteQueue, stage.None](w, messages.DeleteQueue{Name: "q"})
		},
		"TagResource": func(w *world) *error {
			return later[messages.UpdateTags, map[string]string](w, messages.UpdateTags{Resource: messages.Resource{Kind: "gamesessionqueue", ID: "q"}, Set: map[string]string{"a": "b"}})
		},
		"StopGameSessionPlacement": func(w *world) *error {
			return later[messages.StopPlacement, *messages.Placement](w, messages.StopPlacement{ID: "p"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, nil, func(t *testing.T, w *world) {
				w.queue(messages.Queue{Name: "q", Timeout: time.Minute})
				w.placed(messages.StartPlacement{ID: "p"})
				state := func() string {
					all, err := request[messages.QueueQuery, []*messages.Queue](w, messages.QueueQuery{})
					text, bad := json.Marshal([]any{all, w.get("p")})
					if err != nil || bad != nil {
						t.Fatal(err, bad)
					}
					return string(text)
				}
				before := state()
				w.store.Hold()
				w.store.Break(true)
				err := change(w)
				assert.Equal(t, "on its way to the store: , before it", state(), before)
				w.store.Release()
				if now := state(); now != before || code(*err) != messages.Internal {
					t.Errorf("refused with %v: %s, before it %s", *err, now, before)
				}
				w.store.Break(false)
				if err = change(w); *err != nil || state() == before {
					t.Errorf("%v, and shown is %s", *err, state())
				}
			})
		})
	}
}
