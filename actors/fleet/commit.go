package fleet

import (
	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
)

type undone struct {
	undo   func()
	answer func()
}

func (m undone) Undelivered() { m.answer() }

type kept struct {
	then   func()
	answer func(error)
}

func (m kept) Undelivered() { m.answer(unavailable()) }

func (r *Registry) commit(c *stage.Context, undo func(), answer func(error), changes ...store.Change) {
	self := c.Self()
	r.o.Store.Commit(changes, func(err error) {
		if err != nil {
			r.refused(self, undo, answer, err)
			return
		}
		answer(nil)
	})
}

func (r *Registry) commitThen(c *stage.Context, undo, then func(), answer func(error), changes ...store.Change) {
	self := c.Self()
	r.o.Store.Commit(changes, func(err error) {
		if err != nil {
			r.refused(self, undo, answer, err)
			return
		}
		self.Tell(kept{then, answer})
	})
}

func (r *Registry) refused(self *stage.Ref, undo func(), answer func(error), err error) {
	r.lost.Error().Err(err).Msg("not stored")
	self.Tell(undone{undo, func() { answer(ledger.NotStored()) }})
}
