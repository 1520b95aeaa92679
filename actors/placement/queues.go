package placement

import (
	"maps"
	"strings"
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// commit makes a change of a queue durable and then calls answer, from any goroutine. The
// Manager shows it already; should it not become durable, undo takes it back. Until then
// other changes of the queue wait: they would be made on top of it, and store it too.
func (m *Manager) commit(c *stage.Context, q *queue, undo func(), answer func(error), change store.Change) {
	self, log := c.Self(), c.Log()
	q.changes = true
	m.o.Store.Commit([]store.Change{change}, func(err error) {
		if err == nil {
			answer(nil)
			self.Tell(changed{q})
			return
		}
		log.Error().Err(err).Msg("a change of a queue was not stored")
		self.Tell(undone{q, undo, func() { answer(notStored()) }})
	})
}

// changesMax is how many changes of one queue may wait.
const changesMax = 16

// waits has a request to change a queue wait, if another change of it is under way.
func (m *Manager) waits(name messages.QueueName, msg any, refuse func(error)) bool {
	q := m.queues[name]
	if q == nil || q.gone || !q.changes {
		return false
	}
	if len(q.waiting) >= changesMax {
		refuse(messages.Errorf(messages.Conflict, "%d changes of queue %s wait for the store already: try again", changesMax, name))
	} else {
		q.waiting = append(q.waiting, msg)
	}
	return true
}

// endChange lets the next change of a queue begin.
func (m *Manager) endChange(c *stage.Context, q *queue) {
	waiting := q.waiting
	q.changes, q.waiting = false, nil
	for _, msg := range waiting { // the first that is not refused has the others wait again
		m.Receive(c, msg)
	}
}

func (m *Manager) onNewQueue(c *stage.Context, r Request[NewQueue, *messages.Queue]) {
	name := r.Request.Queue.Name
	switch {
	case r.Request.Queue.Timeout <= 0:
		r.Reply(nil, messages.Errorf(messages.InvalidRequest, "a queue needs a timeout"))
		return
	case m.queues[name] != nil:
		r.Reply(nil, messages.Errorf(messages.InvalidRequest, "queue %s exists", name))
		return
	case len(m.queues) >= m.o.QueuesMax:
		r.Reply(nil, messages.Errorf(messages.LimitExceeded, "the host has its maximum of %d queues", m.o.QueuesMax))
		return
	}
	record := r.Request.Queue
	record.ARN, record.Created = m.queueARN(name), c.Now()
	q := &queue{record: &record}
	m.queues[name] = q
	// Placements that were started meanwhile fail with it.
	undo := func() {
		q.gone = true
		if m.queues[name] == q {
			delete(m.queues, name)
		}
	}
	m.commit(c, q, undo, func(err error) { r.Reply(orNil(&record, err)) }, store.Put(store.Queue, string(name), &record))
}

func orNil[T any](v *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

// existing returns a queue that is not being deleted.
func (m *Manager) existing(name messages.QueueName) (*queue, error) {
	if q := m.queues[name]; q != nil && !q.gone {
		return q, nil
	}
	return nil, m.noQueue(name)
}

func (m *Manager) onUpdateQueue(c *stage.Context, r Request[messages.UpdateQueue, *messages.Queue]) {
	if m.waits(r.Request.Name, r, func(err error) { r.Reply(nil, err) }) {
		return
	}
	q, err := m.existing(r.Request.Name)
	if err != nil {
		r.Reply(nil, err)
		return
	}
	m.replace(c, q, r.Request.Apply(q.record), r.Reply)
}

// replace gives a queue another record, which its placements follow from their next pass.
func (m *Manager) replace(c *stage.Context, q *queue, record *messages.Queue, reply func(*messages.Queue, error)) {
	old := q.record
	m.follow(q, record)
	m.commit(c, q, func() { m.follow(q, old) }, func(err error) { reply(orNil(record, err)) }, store.Put(store.Queue, string(record.Name), record))
}

// follow has the placements of a queue go by another record of it.
func (m *Manager) follow(q *queue, record *messages.Queue) {
	q.record = record
	for _, e := range q.pending { // their time may be another
		if e.state != ended && e.index >= 0 {
			m.due.schedule(e, nextStep(e, time.Now()))
		}
	}
	m.arm()
}

// onDropQueue deletes a queue, and has its placements end in the same commit. Those whose
// end is on its way to the store are decided by that.
func (m *Manager) onDropQueue(c *stage.Context, r Request[DropQueue, None]) {
	if m.waits(r.Request.Name, r, func(err error) { r.Reply(None{}, err) }) {
		return
	}
	q, err := m.existing(r.Request.Name)
	if err != nil {
		r.Reply(None{}, err)
		return
	}
	q.gone = true
	var failed []finale
	for _, e := range q.pending {
		if e.state != ended && e.state != ending {
			failed = append(failed, finale{e: e, status: messages.PlacementFailed})
		}
	}
	self := c.Self()
	m.end(c, []store.Change{m.deletion(r.Request.Name)}, func(_ []*messages.Placement, err error) {
		self.Tell(dropped{q, err})
		r.Reply(None{}, err)
	}, failed...)
}

// dropped says that a queue was deleted, or why not.
type dropped struct {
	q   *queue
	err error
}

func (m *Manager) onDropped(d dropped) {
	if d.err != nil {
		d.q.gone = false
		return
	}
	if name := d.q.record.Name; m.queues[name] == d.q { // else that was not stored, and there is a new one
		delete(m.queues, name)
	}
}

// tags reads the tags of a queue.
func (m *Manager) tags(q messages.Resource) (map[string]string, error) {
	found, err := m.existing(messages.QueueName(q.ID))
	if err != nil {
		return nil, err
	}
	return maps.Clone(found.record.Tags), nil
}

func (m *Manager) onUpdateTags(c *stage.Context, r Request[messages.UpdateTags, map[string]string]) {
	if m.waits(messages.QueueName(r.Request.Resource.ID), r, func(err error) { r.Reply(nil, err) }) {
		return
	}
	q, err := m.existing(messages.QueueName(r.Request.Resource.ID))
	if err != nil {
		r.Reply(nil, err)
		return
	}
	tags, err := messages.ChangeTags(q.record.Tags, r.Request)
	if err != nil {
		r.Reply(nil, err)
		return
	}
	record := *q.record
	record.Tags = tags
	m.replace(c, q, &record, func(q *messages.Queue, err error) {
		if err != nil {
			r.Reply(nil, err)
			return
		}
		r.Reply(maps.Clone(q.Tags), nil)
	})
}

// queueARN is the ARN of a queue (service-api.md 2.2).
func (m *Manager) queueARN(name messages.QueueName) string {
	return strings.Join([]string{"arn:aws:gamelift", m.o.Region, m.o.Account, "gamesessionqueue/" + string(name)}, ":")
}

func (m *Manager) noQueue(name messages.QueueName) error {
	if m.damaged[store.Queue][string(name)] {
		return messages.Errorf(messages.NotFound, "queue %s is not known here: its record in the store is damaged; create it again", name)
	}
	return messages.Errorf(messages.NotFound, "queue %s is not known here", name)
}
