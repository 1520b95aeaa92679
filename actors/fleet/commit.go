package fleet

import (
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// undone has the actor take back what could not be made durable, and then answers.
type undone struct {
	undo   func()
	answer func()
}

// Undelivered implements stage.Undeliverable: the state ends with the actor.
func (m undone) Undelivered() { m.answer() }

// commit makes changes durable and then calls answer, from any goroutine. The state of
// the actor shows them already; should they not become durable, undo takes them back,
// in the actor, before answer is called with the error.
func (r *Registry) commit(c *stage.Context, undo func(), answer func(error), changes ...store.Change) {
	self, log := c.Self(), c.Log()
	r.o.Store.Commit(changes, func(err error) {
		if err == nil {
			answer(nil)
			return
		}
		log.Error().Err(err).Int("changes", len(changes)).Msg("not stored")
		self.Tell(undone{undo, func() { answer(notStored()) }})
	})
}

func notStored() error {
	return messages.Errorf(messages.Internal, "the host could not store the change")
}
