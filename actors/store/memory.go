package store

import (
	"maps"
	"slices"
	"sync"
)

// Memory is a Store that keeps records only for the life of the process. The zero value is ready to use.
type Memory struct {
	mu      sync.Mutex
	records map[Kind]map[string][]byte
	closed  bool
}

var _ Store = (*Memory)(nil)

// Load implements Store.
func (m *Memory) Load(kind Kind, f func(id string, value []byte) error) ([]Damage, error) {
	m.mu.Lock()
	records := maps.Clone(m.records[kind])
	m.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(records)) {
		if err := f(id, records[id]); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// Commit implements Store. It calls done before it returns.
func (m *Memory) Commit(changes []Change, done func(error)) {
	err := m.commit(changes)
	if done != nil {
		done(err)
	}
}

func (m *Memory) commit(changes []Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	if m.records == nil {
		m.records = make(map[Kind]map[string][]byte)
	}
	for _, c := range changes {
		if m.records[c.Kind] == nil {
			m.records[c.Kind] = make(map[string][]byte)
		}
		if c.Value == nil {
			delete(m.records[c.Kind], c.ID)
		} else {
			m.records[c.Kind][c.ID] = c.Value
		}
	}
	return nil
}

// Flush implements Store.
func (m *Memory) Flush() {}

// Close implements Store.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	return nil
}
