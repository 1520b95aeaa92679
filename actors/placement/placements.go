package placement

import (
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// onStart starts a placement, which is answered when it is durable.
func (m *Manager) onStart(c *stage.Context, r Request[messages.StartPlacement, *messages.Placement]) {
	now := c.Now()
	q, old, err := m.admit(&r.Request, now)
	if err != nil {
		r.Reply(nil, err)
		return
	}
	record := &messages.Placement{Request: r.Request, Status: messages.PlacementPending, Started: now}
	change := store.Put(store.Placement, string(r.Request.ID), record)
	if !m.memory.room(len(change.Value), m.o.BytesMax) {
		r.Reply(nil, tooMany())
		return
	}
	e := m.add(q, record, len(change.Value))
	e.old, e.state = old, storing
	self, log := c.Self(), c.Log()
	changes := append(m.forget(now), change) // in this order: what is forgotten may be the same id
	m.o.Store.Commit(changes, func(err error) {
		self.Tell(stored{e, err})
		if err != nil {
			log.Error().Err(err).Msg("a placement was not stored")
			r.Reply(nil, notStored())
			return
		}
		r.Reply(record, nil)
	})
}

// admit checks what needs the state, and returns the queue and the ended placement whose
// id is used again (D-220).
func (m *Manager) admit(r *messages.StartPlacement, now time.Time) (*queue, *entry, error) {
	q, old := m.queues[r.Queue], m.placements[r.ID]
	switch {
	case m.draining:
		return nil, nil, messages.Errorf(messages.Unavailable, "the host is shutting down")
	case q == nil || q.gone:
		return nil, nil, m.noQueue(r.Queue)
	case len(r.LocationOrder) > 0 && !locationFirst(q.record):
		return nil, nil, messages.Errorf(messages.InvalidRequest, "PriorityConfigurationOverride needs a queue whose PriorityOrder starts with LOCATION, that of %s does not", r.Queue)
	case old != nil && (old.state != ended || old.record.Status == messages.PlacementFulfilled && !m.expired(old, now)):
		return nil, nil, messages.Errorf(messages.InvalidRequest, "placement %s is %s", r.ID, old.record.Status)
	case old == nil && m.damaged[store.Placement][string(r.ID)]:
		return nil, nil, messages.Errorf(messages.InvalidRequest, "placement %s has existed, and its record in the store is damaged: use another id", r.ID)
	case len(m.due)+m.memory.storing >= m.o.PendingMax:
		return nil, nil, tooMany()
	}
	return q, old, nil
}

func locationFirst(q *messages.Queue) bool {
	return q.HasPriority && len(q.PriorityOrder) > 0 && q.PriorityOrder[0] == messages.PriorityLocation
}

// add makes the entry of a PENDING placement.
func (m *Manager) add(q *queue, record *messages.Placement, size int) *entry {
	m.started++
	e := &entry{
		record: record, queue: q, ranking: NewRanking(&record.Request), start: time.Now(), number: m.started, index: -1, size: size,
	}
	m.placements[record.Request.ID] = e
	m.memory.bytes += size
	m.memory.storing++
	return e
}

// onStored has a durable placement begin.
func (m *Manager) onStored(c *stage.Context, s stored) {
	e := s.e
	m.memory.storing--
	if s.err != nil {
		m.memory.bytes -= e.size
		if m.placements[e.id()] = e.old; e.old == nil || e.old.lost {
			delete(m.placements, e.id())
		}
		e.state = ended
		return
	}
	if e.old != nil {
		m.memory.drop(e.old)
		e.old = nil
	}
	m.begin(c, e)
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

// get reads a placement. One that is not durable yet is not there yet.
func (m *Manager) get(c *stage.Context, id messages.PlacementID) (*messages.Placement, error) {
	e := m.placements[id]
	if e != nil && e.state == storing {
		e = e.old
	}
	if e == nil || e.state == ended && m.expired(e, c.Now()) {
		return nil, m.noPlacement(id)
	}
	return e.record, nil
}

// onStop cancels a placement. One whose end is being made durable is decided by that.
func (m *Manager) onStop(c *stage.Context, r Request[StopPlacement, *messages.Placement]) {
	record, err := m.get(c, r.Request.ID)
	e := m.placements[r.Request.ID]
	switch {
	case err != nil:
		r.Reply(nil, err)
	case record.Status.Final():
		r.Reply(nil, notPending(record))
	case e.state == ending:
		e.stops = append(e.stops, r.Reply)
	default:
		m.cancel(c, e, r.Reply)
	}
}

func (m *Manager) cancel(c *stage.Context, e *entry, reply func(*messages.Placement, error)) {
	f := finale{e: e, status: messages.PlacementCancelled}
	m.end(c, nil, func(records []*messages.Placement, err error) {
		if err != nil {
			reply(nil, err)
			return
		}
		reply(records[0], nil)
	}, f)
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

func notStored() error {
	return messages.Errorf(messages.Internal, "the host could not store the change")
}
