package placement

import (
	"maps"
	"strings"
	"time"

	"troupe/actors/ledger"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

func queueKey(name messages.QueueName) ledger.Key {
	return ledger.Key{Kind: store.Queue, ID: string(name)}
}

func (m *Manager) onNewQueue(c *stage.Context, r stage.Request[messages.CreateQueue, *messages.Queue]) {
	record := r.Request.Queue
	name := record.Name
	made := &record
	m.ledger.Do(ledger.Transaction{Key: queueKey(name), Reply: r.With(&made), Decide: func() (ledger.Entry, error) {
		old := m.queues[name]
		switch {
		case old != nil && messages.SameCall(old.record.Call, record.Call):
			made = old.record
			return ledger.Entry{}, nil
		case record.Timeout <= 0:
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "a queue needs a timeout")
		case old != nil:
			return ledger.Entry{}, messages.Errorf(messages.InvalidRequest, "queue %s exists", name)
		case len(m.queues)+m.ledger.Claimed(store.Queue).Count >= m.o.QueuesMax:
			return ledger.Entry{}, messages.Errorf(messages.LimitExceeded, "the host has its maximum of %d queues", m.o.QueuesMax)
		}
		record.ARN, record.Created = m.queueARN(name), c.Now()
		return ledger.Entry{
			Changes: []store.Change{store.Put(store.Queue, string(name), &record)}, Claim: ledger.Claim{Count: 1},
			Apply: func() { m.queues[name] = &queue{record: &record} },
		}, nil
	}})
}

// existing returns a queue that has not been deleted, or an error.
func (m *Manager) existing(name messages.QueueName) (*queue, error) {
	if q := m.queues[name]; q != nil && !q.deleted {
		return q, nil
	}
	return nil, m.noQueue(name)
}

func (m *Manager) onUpdateQueue(r stage.Request[messages.UpdateQueue, *messages.Queue]) {
	var next *messages.Queue
	m.changeQueue(r.Request.Name, r.With(&next), func(old *messages.Queue) (*messages.Queue, error) {
		next = r.Request.Apply(old)
		return next, nil
	})
}

// changeQueue replaces the record of a queue. The queue's placements use the new record from their next pass on.
func (m *Manager) changeQueue(name messages.QueueName, reply func(error), change func(*messages.Queue) (*messages.Queue, error)) {
	m.ledger.Do(ledger.Transaction{Key: queueKey(name), Reply: reply, Decide: func() (ledger.Entry, error) {
		q, err := m.existing(name)
		if err != nil {
			return ledger.Entry{}, err
		}
		record, err := change(q.record)
		if err != nil {
			return ledger.Entry{}, err
		}
		return ledger.Entry{
			Changes: []store.Change{store.Put(store.Queue, string(name), record)}, Apply: func() { m.applyRecord(q, record) },
		}, nil
	}})
}

func (m *Manager) applyRecord(q *queue, record *messages.Queue) {
	q.record = record
	for _, e := range q.pending { // the timeouts of the placements may change
		if e.state != ended && e.index >= 0 {
			m.due.schedule(e, nextStep(e, time.Now()))
		}
	}
	m.arm()
}

// onDropQueue deletes a queue. In the same commit it ends all placements of the queue that are not already ending. A
// placement that starts in the meantime becomes FAILED.
func (m *Manager) onDropQueue(c *stage.Context, r stage.Request[messages.DeleteQueue, stage.None]) {
	name := r.Request.Name
	m.ledger.Do(ledger.Transaction{Key: queueKey(name), Reply: r.With(new(stage.None)), Decide: func() (ledger.Entry, error) {
		q, err := m.existing(name)
		if err != nil {
			return ledger.Entry{}, err
		}
		var failed []ledger.Entry
		drop := ledger.Entry{Changes: []store.Change{m.deletion(name)}}
		for _, e := range q.pending {
			if e.state == ended || e.state == ending {
				continue
			}
			end := m.ending(c, e, messages.PlacementFailed, nil)
			drop.Changes, drop.Events = append(drop.Changes, end.Changes...), append(drop.Events, end.Events...)
			drop.Takes = append(drop.Takes, placementKey(e.id()))
			failed = append(failed, end)
		}
		drop.Apply = func() {
			q.deleted = true
			delete(m.queues, name)
			for _, end := range failed {
				end.Apply()
			}
		}
		drop.Refused = func() {
			for _, end := range failed {
				end.Refused()
			}
		}
		return drop, nil
	}})
}

func (m *Manager) tags(q messages.Resource) (map[string]string, error) {
	found, err := m.existing(messages.QueueName(q.ID))
	if err != nil {
		return nil, err
	}
	return maps.Clone(found.record.Tags), nil
}

func (m *Manager) onUpdateTags(r stage.Request[messages.UpdateTags, map[string]string]) {
	var tags map[string]string
	m.changeQueue(messages.QueueName(r.Request.Resource.ID), r.With(&tags), func(old *messages.Queue) (*messages.Queue, error) {
		next := *old
		var err error
		next.Tags, err = messages.ChangeTags(old.Tags, r.Request)
		tags = maps.Clone(next.Tags)
		return &next, err
	})
}

func (m *Manager) queueARN(name messages.QueueName) string {
	return strings.Join([]string{"arn:aws:gamelift", m.o.Region, m.o.Account, "gamesessionqueue/" + string(name)}, ":")
}

func (m *Manager) noQueue(name messages.QueueName) error {
	if m.unread.Has(store.Queue, string(name)) {
		return messages.Errorf(messages.NotFound, "queue %s is not known here: its record in the store is damaged; create it again", name)
	}
	return messages.Errorf(messages.NotFound, "queue %s is not known here", name)
}
