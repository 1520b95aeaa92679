package placement

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
)

// memory tracks the memory that placements use.
type memory struct {
	bytes      int      // of the records of all placements
	endedBytes int      // of ended placements
	ended      []*entry // by time of their end, including forgotten ones
	count      int      // of ended ones that are not forgotten
}

// add counts a placement that has ended.
func (k *memory) add(e *entry) {
	k.ended = append(k.ended, e)
	k.count++
	k.endedBytes += e.size
}

// drop forgets a placement that has ended.
func (k *memory) drop(e *entry) {
	if e.forgotten {
		return
	}
	e.forgotten = true
	k.count--
	k.bytes -= e.size
	k.endedBytes -= e.size
}

// room reports whether one more PENDING placement of size bytes fits.
func (k *memory) room(size, most int) bool { return k.bytes-k.endedBytes+size <= most }

func (k *memory) words(queues, pending int) map[string]string {
	return map[string]string{
		"queues": strconv.Itoa(queues), "pending": strconv.Itoa(pending), "ended": strconv.Itoa(k.count), "bytes": strconv.Itoa(k.bytes),
	}
}

func (m *Manager) expired(e *entry, now time.Time) bool {
	return now.Sub(e.record.Ended) > m.o.EndedKeep
}

// forget drops ended placements and their records, oldest first, until one more of size bytes
// fits the bounds.
func (m *Manager) forget(now time.Time, size int) {
	var changes []store.Change
	size += m.ledger.Claimed(store.Placement).Bytes
	k, n := &m.memory, 0
	for ; n < len(k.ended) && len(changes) < forgetMax; n++ {
		e := k.ended[n]
		if e.forgotten {
			continue
		}
		if k.count <= m.o.EndedMax && k.bytes+size <= m.o.BytesMax && !m.expired(e, now) {
			break
		}
		k.drop(e)
		if m.placements[e.id()] == e { // otherwise the stored record belongs to a newer placement
			delete(m.placements, e.id())
			if m.ledger.Free(placementKey(e.id())) { // otherwise a newer placement with this id is being stored
				changes = append(changes, store.Delete(store.Placement, string(e.id())))
			}
		}
	}
	clear(k.ended[:n])
	k.ended = k.ended[n:]
	if changes != nil {
		m.ledger.CommitAsync(changes...)
	}
}

// State holds the stored queues and placements.
type State struct {
	queues     []*messages.Queue
	placements []storedPlacement
	damaged    []store.Damage
}

// Damaged returns the stored records that were left out: those that do not decode or are
// inconsistent.
func (s *State) Damaged() []store.Damage { return s.damaged }

type storedPlacement struct {
	record *messages.Placement
	size   int
}

// Load reads a State. It may take long, so actors must not call it.
func Load(s store.Store) (*State, error) {
	state := new(State)
	damaged, err := s.Load(store.Queue, func(id string, value []byte) error {
		q := new(messages.Queue)
		if err := json.Unmarshal(value, q); err != nil || string(q.Name) != id {
			state.addDamaged(store.Queue, id, err)
			return nil
		}
		state.queues = append(state.queues, q)
		return nil
	})
	if err != nil {
		return nil, err
	}
	state.damaged = append(state.damaged, damaged...)
	damaged, err = s.Load(store.Placement, func(id string, value []byte) error {
		p := new(messages.Placement)
		if err := json.Unmarshal(value, p); err != nil || string(p.Request.ID) != id || p.Status == 0 {
			state.addDamaged(store.Placement, id, err)
			return nil
		}
		state.placements = append(state.placements, storedPlacement{p, len(value)})
		return nil
	})
	if err != nil {
		return nil, err
	}
	state.damaged = append(state.damaged, damaged...)
	return state, nil
}

// addDamaged adds a damaged record. Without an error the record is incomplete.
func (s *State) addDamaged(kind store.Kind, id string, err error) {
	if err == nil {
		err = errors.New("is not complete")
	} else {
		err = fmt.Errorf("cannot be read: %w", err)
	}
	s.damaged = append(s.damaged, store.Damage{Kind: kind, ID: id, Err: err})
}

// InEffect returns the queues to start with: the stored ones, and the configured ones that
// were never changed or deleted. A stored record without a timeout marks a deleted queue.
func (s *State) InEffect(configured []*messages.Queue) (all []*messages.Queue) {
	known := make(map[messages.QueueName]bool)
	for _, q := range s.queues {
		known[q.Name] = true
		if q.Timeout > 0 {
			all = append(all, q)
		}
	}
	for _, q := range configured {
		if !known[q.Name] {
			all = append(all, q)
		}
	}
	return all
}

func (m *Manager) restoreQueues() {
	for _, q := range m.restored.InEffect(m.o.Queues) {
		record := *q
		record.ARN = m.queueARN(q.Name)
		m.queues[q.Name] = &queue{record: &record}
	}
}

// restoreDamaged records the ids of damaged records, so that they are not used again.
func (m *Manager) restoreDamaged() {
	m.damaged = make(map[store.Kind]map[string]bool)
	for _, d := range m.restored.damaged {
		if m.damaged[d.Kind] == nil {
			m.damaged[d.Kind] = make(map[string]bool)
		}
		m.damaged[d.Kind][d.ID] = true
	}
}

// deletion returns the change that deletes a queue. A configured queue leaves a record behind;
// otherwise the next start would restore it.
func (m *Manager) deletion(name messages.QueueName) store.Change {
	if slices.ContainsFunc(m.o.Queues, func(q *messages.Queue) bool { return q.Name == name }) {
		return store.Put(store.Queue, string(name), messages.Queue{Name: name})
	}
	return store.Delete(store.Queue, string(name))
}

// restore restores the state. PENDING placements continue from their start with new attempts,
// because the game sessions of earlier attempts are TERMINATED. Placements whose queue is gone
// become FAILED.
func (m *Manager) restore(c *stage.Context) {
	m.restoreQueues()
	m.restoreDamaged()
	all := m.restored.placements
	m.restored = nil
	slices.SortStableFunc(all, func(a, b storedPlacement) int {
		return cmp.Or(a.orderTime().Compare(b.orderTime()), cmp.Compare(a.record.Request.ID, b.record.Request.ID))
	})
	now := c.Now()
	for _, k := range all {
		if k.record.Status.Final() {
			e := &entry{record: k.record, state: ended, index: -1, size: k.size}
			m.placements[e.id()] = e
			m.memory.bytes += e.size
			m.memory.add(e)
		}
	}
	for _, k := range all {
		if !k.record.Status.Final() {
			m.resumePlacement(c, k, now)
		}
	}
	if pending := len(m.due); pending > 0 {
		c.Log().Info().Int("pending", pending).Msg("placements go on")
	}
	m.arm()
}

// orderTime is the time by which records are ordered: the end, or the start of a PENDING
// placement.
func (k storedPlacement) orderTime() time.Time {
	if k.record.Status.Final() {
		return k.record.Ended
	}
	return k.record.Started
}

func (m *Manager) resumePlacement(c *stage.Context, k storedPlacement, now time.Time) {
	q := m.queues[k.record.Request.Queue]
	if q == nil { // a stand-in, so that the placement can fail
		q = &queue{record: &messages.Queue{Name: k.record.Request.Queue, ARN: m.queueARN(k.record.Request.Queue)}, deleted: true}
	}
	e := m.add(q, k.record, k.size)
	e.start = e.start.Add(-max(now.Sub(k.record.Started), 0))
	e.passes = 1 // the first pass was in the earlier process
	m.begin(c, e)
}
