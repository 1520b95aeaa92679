package placement

import (
	"cmp"
	"slices"
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// State is what the store contains: queues and placements.
type State struct {
	store.Unread
	queues     []*messages.Queue
	placements []storedPlacement
}

type storedPlacement struct {
	record *messages.Placement
	bytes  int
}

// Load reads a State. It may take long, so actors must not call it.
func Load(s store.Store) (*State, error) {
	state := new(State)
	return state, cmp.Or(
		store.Read(s, &state.Unread, store.Queue, func(id string, q *messages.Queue, _ int) error {
			if string(q.Name) != id {
				return store.ErrIncomplete
			}
			state.queues = append(state.queues, q)
			return nil
		}),
		store.Read(s, &state.Unread, store.Placement, func(id string, p *messages.Placement, bytes int) error {
			if string(p.Request.ID) != id || p.Status == 0 {
				return store.ErrIncomplete
			}
			state.placements = append(state.placements, storedPlacement{p, bytes})
			return nil
		}),
	)
}

// InEffect returns the queues to start with. A stored record without a timeout marks a deleted queue.
func (s *State) InEffect(configured []*messages.Queue) []*messages.Queue {
	return store.InEffect(s.queues, configured, func(q *messages.Queue) string { return string(q.Name) }, func(q *messages.Queue) bool { return q.Timeout <= 0 })
}

// deletion returns the change that deletes a queue. For a configured queue it leaves a record that marks the deletion,
// because otherwise the next start would restore the queue.
func (m *Manager) deletion(name messages.QueueName) store.Change {
	if slices.ContainsFunc(m.o.Queues, func(q *messages.Queue) bool { return q.Name == name }) {
		return store.Put(store.Queue, string(name), messages.Queue{Name: name})
	}
	return store.Delete(store.Queue, string(name))
}

// restore restores the state. PENDING placements continue with new attempts, because the game sessions of earlier
// attempts are TERMINATED. Their timeouts still count from the original start. Placements whose queue does not exist
// become FAILED.
func (m *Manager) restore(c *stage.Context) {
	s := m.restored
	m.restored, m.unread = nil, s.Unread
	for _, q := range s.InEffect(m.o.Queues) {
		record := *q
		record.ARN = m.queueARN(q.Name)
		m.queues[q.Name] = &queue{record: &record}
	}
	// Sort by the time of the end, or of the start if the placement has not ended.
	slices.SortStableFunc(s.placements, func(a, b storedPlacement) int {
		x, y := a.record, b.record
		return cmp.Or(cmp.Or(x.Ended, x.Started).Compare(cmp.Or(y.Ended, y.Started)), cmp.Compare(x.Request.ID, y.Request.ID))
	})
	now := c.Now()
	for _, p := range s.placements {
		if p.record.Status.Final() {
			e := &entry{record: p.record, state: ended, index: -1}
			m.placements[e.id()] = e
			m.retention.Add(&e.kept, string(e.id()), p.bytes)
			m.retention.End(&e.kept, p.record.Ended)
		}
	}
	for _, p := range s.placements {
		if !p.record.Status.Final() {
			m.resumePlacement(c, p, now)
		}
	}
	if pending := len(m.due); pending > 0 {
		c.Log().Info().Int("pending", pending).Msg("placements go on")
	}
	m.arm()
}

func (m *Manager) resumePlacement(c *stage.Context, p storedPlacement, now time.Time) {
	q := m.queues[p.record.Request.Queue]
	if q == nil { // create a substitute queue, so that the placement can fail
		q = &queue{record: &messages.Queue{Name: p.record.Request.Queue, ARN: m.queueARN(p.record.Request.Queue)}, deleted: true}
	}
	e := m.add(q, p.record, p.bytes)
	e.start = e.start.Add(-max(now.Sub(p.record.Started), 0))
	e.passes = 1 // the first pass took place in the earlier process
	m.begin(c, e)
}
