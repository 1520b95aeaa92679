package placement

import (
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

func placementKey(id messages.PlacementID) ledger.Key {
	return ledger.Key{Kind: store.Placement, ID: string(id)}
}

// onStart starts a placement. The request is answered when the placement is durable.
func (m *Manager) onStart(c *stage.Context, r stage.Request[messages.StartPlacement, *messages.Placement]) {
	id := r.Request.ID
	record := &messages.Placement{Request: r.Request, Status: messages.PlacementPending}
	orphaned := false // the record is durable, and the next Manager continues
	m.ledger.Do(ledger.Transaction{
		Key: placementKey(id), WaitingMax: m.o.PendingMax,
		Orphaned: func(err error) { orphaned = err == nil },
		Reply: func(err error) {
			if orphaned {
				err = nil
			}
			r.Reply(orNil(record, err))
		},
		Decide: func() (ledger.Entry, error) {
			now := c.Now()
			q, err := m.admit(&r.Request, now)
			if err != nil {
				return ledger.Entry{}, err
			}
			record.Started = now
			change := store.Put(store.Placement, string(id), record)
			size := len(change.Value)
			if !m.memory.room(size+m.ledger.Claimed(store.Placement).Bytes, m.o.BytesMax) {
				return ledger.Entry{}, tooMany()
			}
			m.forget(now, size)
			return ledger.Entry{Changes: []store.Change{change}, Claim: ledger.Claim{Count: 1, Bytes: size}, Apply: func() {
				if old := m.placements[id]; old != nil {
					m.memory.drop(old)
				}
				m.begin(c, m.add(q, record, size))
			}}, nil
		},
	})
}

// admit checks the request against the current state and returns its queue. The id of an ended
// placement may be used again (D-220).
func (m *Manager) admit(r *messages.StartPlacement, now time.Time) (*queue, error) {
	q, old := m.queues[r.Queue], m.placements[r.ID]
	switch {
	case m.draining:
		return nil, messages.Errorf(messages.Unavailable, "the host is shutting down")
	case q == nil || q.deleted:
		return nil, m.noQueue(r.Queue)
	case len(r.LocationOrder) > 0 && !locationFirst(q.record):
		return nil, messages.Errorf(messages.InvalidRequest, "PriorityConfigurationOverride needs a queue whose PriorityOrder starts with LOCATION, that of %s does not", r.Queue)
	case old != nil && (old.state != ended || old.record.Status == messages.PlacementFulfilled && !m.expired(old, now)):
		return nil, messages.Errorf(messages.InvalidRequest, "placement %s is %s", r.ID, old.record.Status)
	case old == nil && m.damaged[store.Placement][string(r.ID)]:
		return nil, messages.Errorf(messages.InvalidRequest, "placement %s has existed, and its record in the store is damaged: use another id", r.ID)
	case len(m.due)+m.ledger.Claimed(store.Placement).Count >= m.o.PendingMax:
		return nil, tooMany()
	}
	return q, nil
}

func locationFirst(q *messages.Queue) bool {
	return q.HasPriority && len(q.PriorityOrder) > 0 && q.PriorityOrder[0] == messages.PriorityLocation
}

// add creates the entry of a PENDING placement.
func (m *Manager) add(q *queue, record *messages.Placement, size int) *entry {
	m.started++
	e := &entry{
		record: record, queue: q, ranking: NewRanking(&record.Request), start: time.Now(), number: m.started, index: -1, size: size,
	}
	m.placements[record.Request.ID] = e
	m.memory.bytes += size
	return e
}

// begin starts the first pass of a placement.
func (m *Manager) begin(c *stage.Context, e *entry) {
	e.state = idle
	e.queue.pending = append(e.queue.pending, e)
	if m.step(c, e, time.Now()) {
		m.ask(c, e.queue)
	}
	m.arm()
}

// get reads a placement.
func (m *Manager) get(c *stage.Context, id messages.PlacementID) (*messages.Placement, error) {
	e := m.placements[id]
	if e == nil || e.state == ended && m.expired(e, c.Now()) {
		return nil, m.noPlacement(id)
	}
	return e.record, nil
}

// onAwait answers when a placement has ended.
func (m *Manager) onAwait(c *stage.Context, r stage.Request[Await, *messages.Placement]) {
	record, err := m.get(c, r.Request.ID)
	if err != nil || record.Status.Final() {
		r.Reply(record, err)
		return
	}
	e := m.placements[r.Request.ID]
	e.awaiting = append(e.awaiting, r.Reply)
}

// onStop cancels a placement, unless its end is already being stored.
func (m *Manager) onStop(c *stage.Context, r stage.Request[messages.StopPlacement, *messages.Placement]) {
	id := r.Request.ID
	if _, err := m.get(c, id); err != nil { // unknown, or not durable yet
		r.Reply(nil, err)
		return
	}
	var e *entry
	reply := func(err error) {
		if err != nil {
			r.Reply(nil, err)
			return
		}
		r.Reply(e.record, nil)
	}
	m.ledger.Do(ledger.Transaction{Key: placementKey(id), WaitingMax: m.o.PendingMax, Reply: reply, Decide: func() (ledger.Entry, error) {
		record, err := m.get(c, id)
		if err == nil && record.Status.Final() {
			err = notPending(record)
		}
		if err != nil {
			return ledger.Entry{}, err
		}
		e = m.placements[id]
		return m.ending(c, completion{e: e, status: messages.PlacementCancelled}), nil
	}})
}

func (m *Manager) noPlacement(id messages.PlacementID) error {
	if m.damaged[store.Placement][string(id)] {
		return messages.Errorf(messages.NotFound, "placement %s is not known here: its record in the store is damaged", id)
	}
	return messages.Errorf(messages.NotFound, "placement %s is not known here", id)
}

func notPending(p *messages.Placement) error {
	return messages.Errorf(messages.InvalidRequest, "placement %s is %s, not PENDING", p.Request.ID, p.Status)
}

func tooMany() error {
	return messages.Errorf(messages.LimitExceeded, "too many placements are PENDING on this host")
}
