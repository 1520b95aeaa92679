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

// kept has the actor do what follows from a change that is durable, and then answers.
type kept struct {
	then   func()
	answer func(error)
}

// Undelivered implements stage.Undeliverable: what follows does so at the next start.
func (m kept) Undelivered() { m.answer(unavailable()) }

// commit makes changes durable and then calls answer, from any goroutine. The state of
// the actor shows them already; should they not become durable, undo takes them back,
// in the actor, before answer is called with the error.
func (r *Registry) commit(c *stage.Context, undo func(), answer func(error), changes ...store.Change) {
	self, log := c.Self(), &r.lost
	r.o.Store.Commit(changes, func(err error) {
		if err == nil {
			answer(nil)
			return
		}
		log.Error().Err(err).Int("changes", len(changes)).Msg("not stored")
		self.Tell(undone{undo, func() { answer(notStored()) }})
	})
}

// commitThen is commit for changes with consequences: then brings them about, in the
// actor, once the changes are durable and before answer is called.
func (r *Registry) commitThen(c *stage.Context, undo, then func(), answer func(error), changes ...store.Change) {
	self := c.Self()
	r.commit(c, undo, func(err error) {
		if err != nil {
			answer(err)
			return
		}
		self.Tell(kept{then, answer})
	}, changes...)
}

// note makes changes durable that nobody waits for. What is lost is made up for at the
// next start.
func (r *Registry) note(_ *stage.Context, changes ...store.Change) {
	log := &r.lost
	r.o.Store.Commit(changes, func(err error) {
		if err != nil {
			log.Error().Err(err).Int("changes", len(changes)).Msg("not stored")
		}
	})
}

func notStored() error {
	return messages.Errorf(messages.Internal, "the host could not store the change")
}
