package shared

import (
	"encoding/json"
	"errors"
	"fmt"

	"troupe/actors/store"
)

// A commit that does not fit in one transaction, such as the end of a match with 200 tickets, is first written as a
// whole to one record, in pieces. From then on the commit is durable. Its changes follow in several transactions. The last
// one deletes the record. If the term ends in between, the next term makes all changes once more before anything else.
const (
	largeKind store.Kind = "large"
	largeID              = "commit"
)

// largeChange is a store.Change in the record of a large commit. An ID may be any bytes.
type largeChange struct {
	Kind      store.Kind
	ID, Value []byte
}

// writeLarge makes changes durable that do not fit in one transaction.
func (s *Store) writeLarge(changes []store.Change) error {
	record := make([]largeChange, len(changes))
	for i, c := range changes {
		record[i] = largeChange{c.Kind, []byte(c.ID), c.Value}
	}
	if err := s.write([]commit{{changes: []store.Change{store.Put(largeKind, largeID, record)}}}); err != nil {
		return err
	}
	return s.finish(changes)
}

// finish makes the changes of a large commit that is durable. It repeats its requests until they succeed. The only error
// is ErrOver: then the next term finishes the commit.
func (s *Store) finish(changes []store.Change) error {
	changes = append(changes[:len(changes):len(changes)], store.Delete(largeKind, largeID))
	for len(changes) > 0 {
		n, size := 0, new(size)
		for n < len(changes) && size.add(s, changes[n:n+1]) {
			n++
		}
		part := []commit{{changes: changes[:n]}}
		for err := s.write(part); err != nil; err = s.write(part) {
			if errors.Is(err, ErrOver) {
				return err
			}
			s.rest()
		}
		changes = changes[n:]
	}
	return nil
}

// finishFormer finishes a large commit that an earlier term has begun.
func (s *Store) finishFormer() error {
	var record []largeChange
	_, err := s.Load(largeKind, func(_ string, value []byte) error { return json.Unmarshal(value, &record) })
	if err != nil {
		return fmt.Errorf("the commit that the previous leader has begun cannot be read: %w", err)
	}
	if len(record) == 0 {
		return nil
	}
	changes := make([]store.Change, len(record))
	for i, c := range record {
		changes[i] = store.Change{Kind: c.Kind, ID: string(c.ID), Value: c.Value}
	}
	return s.finish(changes)
}
