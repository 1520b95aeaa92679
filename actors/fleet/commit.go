package fleet

import (
	"slices"

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
	of, number := r.lineUp(changes)
	r.o.Store.Commit(changes, func(err error) {
		if err == nil {
			answer(nil)
			if of != "" {
				self.Tell(settled{of, number})
			}
			return
		}
		log.Error().Err(err).Int("changes", len(changes)).Msg("not stored")
		self.Tell(undone{func() { r.takeBack(of, number, undo) }, func() { answer(notStored()) }})
	})
}

// line is the changes of one resource that are on their way to the store. Each is made on
// top of those before: those that fail one after the other are taken back newest first,
// and what a newer one that is durable has in it stays.
type line struct {
	newest uint64
	undos  []func() // of those that failed, under a newer one
}

// settled says that a change of a resource is durable.
type settled struct {
	of     string
	number uint64
}

// Undelivered implements stage.Undeliverable.
func (settled) Undelivered() {}

// lineUp adds changes to the line of their resource, by its id; "" if they are of none.
func (r *Registry) lineUp(changes []store.Change) (of string, number uint64) {
	if len(changes) == 0 {
		return "", 0
	}
	change := &changes[0]
	switch change.Kind {
	case store.Fleet, store.Alias, store.Location, store.Script, store.Content:
	default:
		return "", 0
	}
	r.changes++
	l := r.lines[change.ID]
	if l == nil {
		l = new(line)
		r.lines[change.ID] = l
	}
	l.newest = r.changes
	return change.ID, r.changes
}

// takeBack takes a change back that has failed, once the newer ones have.
func (r *Registry) takeBack(of string, number uint64, undo func()) {
	l := r.lines[of]
	if l == nil {
		undo()
		return
	}
	l.undos = append(l.undos, undo)
	if l.newest != number {
		return
	}
	delete(r.lines, of)
	for _, undo := range slices.Backward(l.undos) {
		undo()
	}
}

func (r *Registry) onSettledChange(m settled) {
	switch l := r.lines[m.of]; {
	case l == nil:
	case l.newest == m.number:
		delete(r.lines, m.of)
	default:
		l.undos = nil // it has them in it
	}
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
