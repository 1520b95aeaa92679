package fleet

import (
	"errors"
	"math/rand/v2"
	"time"

	"troupe/actors/gamesession"
	"troupe/actors/stage"
	"troupe/messages"
)

// Errors of Drain and CancelDrain.
var (
	ErrDrainCancelled = errors.New("the drain was cancelled")
	ErrNotDraining    = errors.New("the host does not drain")
	ErrDrainTooLate   = errors.New("the drain cannot be cancelled any more: its games are over, or its grace is")
)

// drain is the state of a Drain.
type drain struct {
	on      bool
	ending  bool         // the grace is over, or all game sessions are: there is no way back
	grace   *stage.Timer // nil without a grace
	until   time.Time    // when it fires
	waiting []func(error)
}

// answer tells all who wait how the drain ended.
func (d *drain) answer(err error) {
	waiting := d.waiting
	d.waiting = nil
	for _, done := range waiting {
		done(err)
	}
}

// limit ends the grace after d, or earlier if an earlier drain says so.
func (d *drain) limit(c *stage.Context, grace time.Duration) {
	switch until := time.Now().Add(grace); {
	case d.grace == nil:
		d.grace, d.until = c.After(grace, graceOver{}), until
	case until.Before(d.until):
		d.grace.Reset(grace)
		d.until = until
	}
}

func (r *Registry) onDrain(c *stage.Context, m stage.Request[Drain, stage.None]) {
	r.drain.on = true
	r.drain.waiting = append(r.drain.waiting, nothing(m.Reply))
	r.hosting.Drain()
	for _, e := range r.order {
		if e.ref == nil || e.over {
			continue
		}
		if e.published.Session().CurrentPlayers == 0 {
			r.terminate(e)
		} else {
			e.ref.Tell(gamesession.EndWhenEmpty{On: true})
		}
	}
	if m.Request.Grace > 0 {
		r.drain.limit(c, m.Request.Grace)
	} else {
		r.endAll(c)
	}
	r.finishDrain()
}

// cancelDrain has the host serve again. Game sessions that have ended are not brought
// back. Scripts that were updated during the drain are loaded now.
func (r *Registry) cancelDrain(c *stage.Context) error {
	switch {
	case !r.drain.on:
		return ErrNotDraining
	case r.drain.ending:
		return ErrDrainTooLate
	}
	r.drain.grace.Stop()
	was := r.drain
	r.drain = drain{}
	for _, e := range r.order {
		if e.ref != nil && !e.over {
			e.ref.Tell(gamesession.EndWhenEmpty{On: e.earlier})
		}
	}
	r.hosting.Resume()
	for _, f := range r.fleets {
		r.tellRoom(f, "")
	}
	was.answer(ErrDrainCancelled)
	return nil
}

// drainSpread is over how long the ends of many game sessions are spread, so
// that their players do not all come back at once.
const drainSpread = 500 * time.Millisecond

// endAll terminates what is still there.
func (r *Registry) endAll(c *stage.Context) {
	r.drain.ending = true
	live := 0
	for _, e := range r.order {
		if e.ref != nil && !e.over {
			live++
		}
	}
	for _, e := range r.order {
		if e.ref == nil || e.over {
			continue
		}
		if live < 100 {
			r.terminate(e)
			continue
		}
		c.After(rand.N(drainSpread), endOne{e.id})
	}
}

func (r *Registry) terminate(e *entry) {
	if e != nil && e.ref != nil {
		e.ref.Tell(gamesession.Terminate{Reason: messages.CloseGoingAway, Text: "host shut down"})
	}
}

func (r *Registry) finishDrain() {
	if !r.drain.on || len(r.refs)+r.hosting.Standbys() > 0 {
		return
	}
	r.drain.ending = true
	r.drain.answer(nil)
}
