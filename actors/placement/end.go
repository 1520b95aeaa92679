package placement

import (
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// placementEnd is the final status of a placement, and the reason for it.
type placementEnd struct {
	e      *entry
	status messages.PlacementStatus
	placed []messages.PlacedPlayer
}

// end ends a placement for a reason other than a request.
func (m *Manager) end(c *stage.Context, f placementEnd) {
	attempt := f.e.attempt
	m.ledger.Do(ledger.Transaction{
		Key:    placementKey(f.e.id()),
		Decide: func() (ledger.Entry, error) { return m.ending(c, f), nil },
		Orphaned: func(err error) { // see Stopped
			if err != nil && f.status == messages.PlacementFulfilled {
				giveUp(m.hosts, attempt)
			}
		},
	})
}

// ending returns the ledger entry that ends a placement, with its event. Unless the placement
// is FULFILLED, its attempt ends too. If the store refuses the entry, the placement goes on
// with its next pass.
func (m *Manager) ending(c *stage.Context, f placementEnd) ledger.Entry {
	now := c.Now()
	m.retention.Forget(now, 0)
	e, record, why := f.e, f.final(now), m.whyNoDestination(&f)
	record.Waited = e.waited(f.status == messages.PlacementFulfilled)
	e.state, e.fulfilled = ending, f.status == messages.PlacementFulfilled
	return ledger.Entry{
		Changes: []store.Change{store.Put(store.Placement, string(e.id()), record)},
		Events:  []messages.Event{eventOf(e.queue.record, record, why)},
		Apply: func() {
			e.count(c.Counters(), f.status)
			if why != "" {
				c.Counters().PlacementsNowhere.Add(1)
			}
			if e.fulfilled {
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

// count counts the end of a placement.
func (e *entry) count(n *counters.Set, status messages.PlacementStatus) {
	n.Placements.Add(placementEnds[status], 1)
	if status == messages.PlacementFulfilled {
		n.PlacementLatency.Observe(time.Since(e.start))
	}
}

var placementEnds = map[messages.PlacementStatus]counters.PlacementEnd{
	messages.PlacementFulfilled: counters.PlacementFulfilled,
	messages.PlacementCancelled: counters.PlacementCancelled,
	messages.PlacementTimedOut:  counters.PlacementTimedOut,
	messages.PlacementFailed:    counters.PlacementFailed,
}

// whyNoDestination returns why a placement had no destination, empty if it had one.
func (m *Manager) whyNoDestination(f *placementEnd) string {
	q := f.e.queue
	switch {
	case f.status == messages.PlacementFailed && q.deleted:
		return m.noQueue(q.record.Name).Error()
	case f.status == messages.PlacementTimedOut && q.noDestination != nil:
		return q.noDestination.Error()
	}
	return ""
}

// final returns the record in its final status.
func (f *placementEnd) final(now time.Time) *messages.Placement {
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
