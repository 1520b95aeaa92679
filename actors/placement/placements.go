package placement

import (
	"errors"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

func placementKey(id messages.PlacementID) ledger.Key {
	return ledger.Key{Kind: store.Placement, ID: string(id)}
}

// onStart starts a placement. It replies when the placement is durable.
func (m *Manager) onStart(c *stage.Context, r stage.Request[messages.StartPlacement, *messages.Placement]) {
	record := &messages.Placement{Request: r.Request, Status: messages.PlacementPending}
	m.start(c, record, nil, ledger.Transaction{Survives: true, Reply: r.With(&record)})
}

// onPlace starts a placement, or joins one that exists. It replies when the placement has ended.
func (m *Manager) onPlace(c *stage.Context, r stage.Request[Place, *messages.Placement]) {
	joined := false
	join := func(e *entry) {
		joined = true
		if e.state == ended {
			r.Reply(e.record, nil)
		} else {
			e.awaiting = append(e.awaiting, r)
		}
	}
	record := &messages.Placement{Request: r.Request.Placement, Status: messages.PlacementPending}
	m.start(c, record, join, ledger.Transaction{Reply: func(err error) {
		if !joined {
			r.Reply(nil, err)
		}
	}})
}

var errJoined = errors.New("the placement exists")

// start fills in and begins the transaction that starts a placement. If join is not nil, it receives the placement with
// the given id, whether it is new or already exists.
func (m *Manager) start(c *stage.Context, record *messages.Placement, join func(*entry), t ledger.Transaction) {
	id := record.Request.ID
	t.Key, t.WaitingMax = placementKey(id), m.o.PendingMax
	t.Decide = func() (ledger.Entry, error) {
		now := c.Now()
		old := m.placements[id]
		if old != nil && messages.SameCall(old.record.Request.Call, record.Request.Call) {
			*record = *old.record
			return ledger.Entry{}, nil
		}
		if join != nil && old != nil && !m.retention.Expired(&old.kept, now) {
			join(old)
			return ledger.Entry{}, errJoined
		}
		q, err := m.admit(&record.Request, now)
		if err != nil {
			return ledger.Entry{}, err
		}
		record.Started = now
		change := store.Put(store.Placement, string(id), record)
		size := len(change.Value)
		if !m.retention.Fits(size) {
			return ledger.Entry{}, tooMany()
		}
		m.retention.Forget(now, size)
		return ledger.Entry{Changes: []store.Change{change}, Claim: ledger.Claim{Count: 1, Bytes: size}, Apply: func() {
			if old := m.placements[id]; old != nil {
				m.retention.Drop(&old.kept)
			}
			e := m.add(q, record, size)
			if join != nil {
				join(e)
			}
			m.begin(c, e)
		}}, nil
	}
	m.ledger.Do(t)
}

// admit checks the request against the current state and returns its queue. The id of an ended placement may be reused
// unless the placement is FULFILLED and has not expired.
func (m *Manager) admit(r *messages.StartPlacement, now time.Time) (*queue, error) {
	q, old := m.queues[r.Queue], m.placements[r.ID]
	switch {
	case m.draining:
		return nil, messages.Errorf(messages.Unavailable, "the host is shutting down")
	case q == nil || q.deleted:
		return nil, m.noQueue(r.Queue)
	case len(r.LocationOrder) > 0 && !locationFirst(q.record):
		return nil, messages.Errorf(messages.InvalidRequest, "PriorityConfigurationOverride needs a queue whose PriorityOrder starts with LOCATION, that of %s does not", r.Queue)
	case old != nil && (old.state != ended || old.record.Status == messages.PlacementFulfilled && !m.retention.Expired(&old.kept, now)):
		return nil, messages.Errorf(messages.InvalidRequest, "placement %s is %s", r.ID, old.record.Status)
	case old == nil && m.unread.Has(store.Placement, string(r.ID)):
		return nil, messages.Errorf(messages.InvalidRequest, "placement %s has existed, and its record in the store is damaged: use another id", r.ID)
	case len(m.due)+m.ledger.Claimed(store.Placement).Count >= m.o.PendingMax:
		return nil, tooMany()
	}
	return q, nil
}

func locationFirst(q *messages.Queue) bool {
	return q.HasPriority && len(q.PriorityOrder) > 0 && q.PriorityOrder[0] == messages.PriorityLocation
}

func (m *Manager) add(q *queue, record *messages.Placement, size int) *entry {
	m.started++
	e := &entry{
		record: record, queue: q, ranking: NewRanking(&record.Request), start: time.Now(), number: m.started, index: -1,
	}
	m.placements[record.Request.ID] = e
	m.retention.Add(&e.kept, string(record.Request.ID), size)
	return e
}

func (m *Manager) begin(c *stage.Context, e *entry) {
	e.state = idle
	e.queue.pending = append(e.queue.pending, e)
	if m.step(c, e, time.Now()) {
		m.ask(c, e.queue)
	}
	m.arm()
}

func (m *Manager) get(c *stage.Context, id messages.PlacementID) (*messages.Placement, error) {
	e := m.placements[id]
	if e == nil || m.retention.Expired(&e.kept, c.Now()) {
		return nil, m.noPlacement(id)
	}
	return e.record, nil
}

// onStop cancels a placement, unless its end is already being stored.
func (m *Manager) onStop(c *stage.Context, r stage.Request[messages.StopPlacement, *messages.Placement]) {
	id := r.Request.ID
	if _, err := m.get(c, id); err != nil { // the placement is unknown or not durable yet
		r.Reply(nil, err)
		return
	}
	var e *entry
	reply := func(err error) {
		var record *messages.Placement
		if err == nil {
			record = e.record
		}
		r.Reply(record, err)
	}
	m.ledger.Do(ledger.Transaction{Key: placementKey(id), WaitingMax: m.o.PendingMax, Reply: reply, Decide: func() (ledger.Entry, error) {
		record, err := m.get(c, id)
		if err == nil && record.Status.Final() {
			err = messages.Errorf(messages.InvalidRequest, "placement %s is %s, not PENDING", id, record.Status)
		}
		if err != nil {
			return ledger.Entry{}, err
		}
		e = m.placements[id]
		return m.ending(c, e, messages.PlacementCancelled, nil), nil
	}})
}

func (m *Manager) noPlacement(id messages.PlacementID) error {
	if m.unread.Has(store.Placement, string(id)) {
		return messages.Errorf(messages.NotFound, "placement %s is not known here: its record in the store is damaged", id)
	}
	return messages.Errorf(messages.NotFound, "placement %s is not known here", id)
}

func tooMany() error {
	return messages.Errorf(messages.LimitExceeded, "too many placements are PENDING on this host")
}
