package placement

import (
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
)

// later sends a request and returns where its error will be.
func later[Q, A any](w *world, q Q) *error {
	got := new(error)
	w.ref.Tell(Request[Q, A]{Request: q, Reply: func(_ A, err error) { *got = err }})
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

// The deletion of a queue that was never there does not take its successor away.
func TestAQueueIsMadeAgainWhileTheOneThatWasNotStoredIsDeleted(t *testing.T) {
	bubble(t, nil, func(t *testing.T, w *world) {
		w.store.stop()
		w.store.fail.Store(true)
		made := later[NewQueue, *messages.Queue](w, NewQueue{messages.Queue{Name: "q", Timeout: time.Minute}})
		dropped := later[DropQueue, None](w, DropQueue{"q"})
		w.store.mu.Lock()
		held := w.store.held
		w.store.mu.Unlock()
		held[0]()
		synctest.Wait()
		w.store.mu.Lock()
		w.store.held, w.store.hold = nil, false
		w.store.mu.Unlock()
		w.store.fail.Store(false)
		w.queue(messages.Queue{Name: "q", Timeout: time.Hour})
		held[1]()
		synctest.Wait()
		all, err := request[Queues, []*messages.Queue](w, Queues{})
		if *made == nil || *dropped != nil || err != nil || len(all) != 1 {
			t.Errorf("%v and %v leave %v, %v", *made, *dropped, all, err)
		}
	})
}
