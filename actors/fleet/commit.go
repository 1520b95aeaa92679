package fleet

import (
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// undone has the actor take back what could not be made durable, and then answers.
type undone struct {
	of     string // the resource, "" if it is none
	undo   func()
	answer func()
}

// Undelivered implements stage.Undeliverable: the state ends with the actor.
func (m undone) Undelivered() { m.answer() }

// kept has the actor do what follows from a change that is durable, and then answers.
type kept struct {
	of     string
	then   func()
	answer func(error)
}

// Undelivered implements stage.Undeliverable: what follows does so at the next start.
func (m kept) Undelivered() { m.answer(unavailable()) }

// commit makes changes durable and then calls answer, from any goroutine. The state of
// the actor shows them already; should they not become durable, undo takes them back,
// in the actor, before answer is called with the error. Until then no other change of the
// same resource begins; see changing.
func (r *Registry) commit(c *stage.Context, undo func(), answer func(error), changes ...store.Change) {
	self, of := c.Self(), r.beginChange(changes)
	r.o.Store.Commit(changes, func(err error) {
		if err != nil {
			r.refused(self, of, undo, answer, err)
			return
		}
		answer(nil)
		if of != "" {
			self.Tell(settled{of})
		}
	})
}

// commitThen is commit for changes with consequences: then brings them about, in the
// actor, once the changes are durable and before answer is called.
func (r *Registry) commitThen(c *stage.Context, undo, then func(), answer func(error), changes ...store.Change) {
	self, of := c.Self(), r.beginChange(changes)
	r.o.Store.Commit(changes, func(err error) {
		if err != nil {
			r.refused(self, of, undo, answer, err)
			return
		}
		self.Tell(kept{of, then, answer})
	})
}

// refused has a change taken back; it is called from any goroutine.
func (r *Registry) refused(self *stage.Ref, of string, undo func(), answer func(error), err error) {
	r.lost.Error().Err(err).Str("resource", of).Msg("not stored")
	self.Tell(undone{of, undo, func() { answer(notStored()) }})
}

func (r *Registry) onUndone(c *stage.Context, m undone) {
	m.undo()
	m.answer()
	r.endChange(c, m.of)
}

func (r *Registry) onKept(c *stage.Context, m kept) {
	m.then()
	m.answer(nil)
	r.endChange(c, m.of)
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

// noteFleet is note for a fleet whose status or events have changed by themselves.
func (r *Registry) noteFleet(c *stage.Context, f *fleetEntry) {
	if !r.deferred(string(f.record.ID)) {
		r.note(c, f.put())
	}
}

func notStored() error {
	return messages.Errorf(messages.Internal, "the host could not store the change")
}
