package placement

import (
	"maps"
	"slices"
	"strings"
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// commit makes changes of queues durable and then calls answer, from any goroutine. The
// Manager shows them already; should they not become durable, undo takes them back.
func (m *Manager) commit(c *stage.Context, undo func(), answer func(error), changes ...store.Change) {
	self, log := c.Self(), c.Log()
	m.o.Store.Commit(changes, func(err error) {
		if err == nil {
			answer(nil)
			return
		}
		log.Error().Err(err).Msg("a change of a queue was not stored")
		self.Tell(undone{undo, func() { answer(notStored()) }})
	})
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
	m.commit(c, undo, func(err error) { r.Reply(orNil(&record, err)) }, store.Put(store.Queue, string(name), &record))
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
	return nil, noQueue(name)
}

func (m *Manager) onUpdateQueue(c *stage.Context, r Request[messages.UpdateQueue, *messages.Queue]) {
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
	q.record = record
	for _, e := range q.pending { // their time may be another
		if e.state != ended && e.index >= 0 {
			m.due.schedule(e, nextStep(e, time.Now()))
		}
	}
	m.arm()
	q.newest = record
	undo := func() { // once the newer ones have failed, which were made on top of it
		q.undos = append(q.undos, func() {
			if q.record == record {
				q.record = old
			}
		})
		if q.newest == record {
			for _, undo := range slices.Backward(q.undos) {
				undo()
			}
			q.undos = nil
		}
	}
	m.commit(c, undo, func(err error) { reply(orNil(record, err)) }, store.Put(store.Queue, string(record.Name), record))
}

// onDropQueue deletes a queue, and has its placements end in the same commit. Those whose
// end is on its way to the store are decided by that.
func (m *Manager) onDropQueue(c *stage.Context, r Request[DropQueue, None]) {
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

func noQueue(name messages.QueueName) error {
	return messages.Errorf(messages.NotFound, "queue %s is not known here", name)
}
