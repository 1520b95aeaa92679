package placement

import (
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// end ends a placement for a reason other than a request. placed lists the players if the status is FULFILLED.
func (m *Manager) end(c *stage.Context, e *entry, status messages.PlacementStatus, placed []messages.PlacedPlayer) {
	attempt := e.attempt
	m.ledger.Do(ledger.Transaction{
		Key:    placementKey(e.id()),
		Decide: func() (ledger.Entry, error) { return m.ending(c, e, status, placed), nil },
		Orphaned: func(err error) { // see Stopped
			if err != nil && status == messages.PlacementFulfilled {
				giveUp(m.hosts, attempt)
			}
		},
	})
}

// ending returns the entry that ends a placement. The entry also ends the placement's attempt, unless the status is
// FULFILLED. If the store refuses the entry, the placement continues.
func (m *Manager) ending(c *stage.Context, e *entry, status messages.PlacementStatus, placed []messages.PlacedPlayer) ledger.Entry {
	now := c.Now()
	m.retention.Forget(now, 0)
	record, why := final(e.record, now, status, placed), ""
	switch q := e.queue; { // record why the placement had no destination
	case status == messages.PlacementFailed && q.deleted:
		why = m.noQueue(q.record.Name).Error()
	case status == messages.PlacementTimedOut && q.noDestination != nil:
		why = q.noDestination.Error()
	}
	record.Waited = e.waited(status == messages.PlacementFulfilled)
	e.state, e.fulfilled = ending, status == messages.PlacementFulfilled
	return ledger.Entry{
		Changes: []store.Change{store.Put(store.Placement, string(e.id()), record)},
		Events:  []messages.Event{eventOf(e.queue.record, record, why)},
		Apply: func() {
			c.Counters().Placements.Add(placementEnds[status], 1)
			if why != "" {
				c.Counters().PlacementsNowhere.Add(1)
			}
			if e.fulfilled {
				c.Counters().PlacementLatency.Observe(time.Since(e.start))
				delete(m.attempts, e.attempt)
				e.attempt = ""
			} else {
				m.endAttempt(e)
			}
			e.record = record
			m.retention.Resize(&e.kept, e.kept.Bytes+len(record.Waited))
			m.leave(e)
			m.retention.End(&e.kept, record.Ended)
		},
		Refused: func() {
			m.endAttempt(e)
			e.endPass()
		},
	}
}

var placementEnds = map[messages.PlacementStatus]counters.PlacementEnd{
	messages.PlacementFulfilled: counters.PlacementFulfilled,
	messages.PlacementCancelled: counters.PlacementCancelled,
	messages.PlacementTimedOut:  counters.PlacementTimedOut,
	messages.PlacementFailed:    counters.PlacementFailed,
}

func final(r *messages.Placement, now time.Time, status messages.PlacementStatus, placed []messages.PlacedPlayer) *messages.Placement {
	p := *r
	p.Status, p.Ended, p.Placed = status, now, placed
	if now.Before(p.Started) { // the wall clock was set back
		p.Ended = p.Started
	}
	if status != messages.PlacementFulfilled {
		p.GameSessionID, p.Location, p.IPAddress, p.DNSName, p.Port, p.Node = "", "", "", "", 0, ""
	}
	return &p
}
