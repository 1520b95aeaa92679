package placement

import (
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// finale is how a placement is to end.
type finale struct {
	e      *entry
	status messages.PlacementStatus
	placed []messages.PlacedPlayer

	record *messages.Placement // made by end
	event  messages.Event
	why    string // it had no destination; or empty
}

// settled says that placements have ended, or why not.
type settled struct {
	m       *Manager
	finales []finale
	err     error
}

// Undelivered implements stage.Undeliverable: who takes up a placement whose end was not
// stored makes a game session anew.
func (s settled) Undelivered() {
	for _, f := range s.finales {
		if s.err != nil && f.record.GameSessionID != "" {
			s.m.terminate(f.record.GameSessionID)
		}
	}
}

// end makes the end of placements durable, each with its event, and together with other
// changes. Attempts of those that are not fulfilled are given up at once. If it cannot
// be stored, they go on as if their pass were over. Answer, which may be nil, is called
// from any goroutine with what became of them.
func (m *Manager) end(c *stage.Context, changes []store.Change, answer func([]*messages.Placement, error), finales ...finale) {
	now := c.Now()
	changes = append(changes, m.forget(now)...)
	records := make([]*messages.Placement, len(finales))
	for i := range finales {
		f := &finales[i]
		f.e.state = ending
		f.record = f.final(now)
		f.why = m.whyNowhere(f)
		f.event = eventOf(f.e.queue.record, f.record, f.why)
		records[i] = f.record
		if f.status != messages.PlacementFulfilled {
			m.giveUp(f.e)
		}
		changes = append(changes, store.Put(store.Placement, string(f.e.id()), f.record), store.Put(store.Event, f.event.ID, f.event))
	}
	self, log, onEvent := c.Self(), c.Log(), m.o.OnEvent
	m.o.Store.Commit(changes, func(err error) {
		// First to the actor: whoever learns of it from an event or an answer and asks
		// is behind that.
		self.Tell(settled{m, finales, err})
		if err != nil {
			log.Error().Err(err).Int("placements", len(finales)).Msg("the end of placements was not stored")
			err, records = notStored(), nil
		}
		for _, f := range finales {
			if err == nil {
				onEvent(f.event)
			}
		}
		if answer != nil {
			answer(records, err)
		}
	})
}

// whyNowhere is why a placement ends that had no destination; else "".
func (m *Manager) whyNowhere(f *finale) string {
	q := f.e.queue
	switch {
	case f.status == messages.PlacementFailed && q.gone:
		return m.noQueue(q.record.Name).Error()
	case f.status == messages.PlacementTimedOut && q.nowhere != nil:
		return q.nowhere.Error()
	}
	return ""
}

// final is the record as it ends.
func (f *finale) final(now time.Time) *messages.Placement {
	p := *f.e.record
	p.Status, p.Ended, p.Placed = f.status, now, f.placed
	if p.Ended.Before(p.Started) { // the wall clock was set back
		p.Ended = p.Started
	}
	if f.status != messages.PlacementFulfilled {
		p.GameSessionID, p.Location, p.IPAddress, p.DNSName, p.Port = "", "", "", "", 0
	}
	return &p
}

// onSettled shows the end of placements, or has them go on.
func (m *Manager) onSettled(c *stage.Context, s settled) {
	for _, f := range s.finales {
		if s.err != nil {
			m.goesOn(c, f.e)
			continue
		}
		if f.why != "" {
			c.Counters().PlacementsNowhere.Add(1)
		}
		e, stops := f.e, f.e.stops
		e.record = f.record
		delete(m.attempts, e.attempt)
		e.attempt = ""
		m.leave(e)
		m.memory.add(e)
		for _, reply := range stops {
			reply(nil, notPending(f.record))
		}
	}
}

// goesOn takes up a placement whose end could not be stored. If its time is over, or its
// queue gone, its next step tries again.
func (m *Manager) goesOn(c *stage.Context, e *entry) {
	m.giveUp(e)
	e.passed()
	if stops := e.stops; len(stops) > 0 {
		e.stops = stops[1:]
		m.cancel(c, e, stops[0])
	}
}
