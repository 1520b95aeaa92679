package shared

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"troupe/actors/store"
	"troupe/messages/coord"
)

const (
	changesMax = coord.OpsMax - 4 // excluded are the term, the key seq, the condition on seq, and the key catalogAt
	seqBytes   = 256              // maximum size of the key seq and its value
	valuesMax  = coord.BytesMax - seqBytes
)

// size is the size of a transaction.
type size struct{ changes, bytes int }

// add adds changes to the size of a transaction. It returns false if they do not fit. A change of a key that the
// transaction already changes is counted twice.
func (z *size) add(s *Store, changes []store.Change) bool {
	z.changes += len(changes)
	for _, c := range changes {
		prefix, _ := s.prefix(c.Kind)
		z.bytes += len(prefix) + len(c.ID)
		if inPieces(c.Value) {
			z.bytes += blobBytes
		} else {
			z.bytes += len(c.Value)
		}
	}
	return z.changes <= changesMax && z.bytes <= valuesMax
}

// fits reports whether changes fit in one transaction.
func (s *Store) fits(changes []store.Change) bool { return new(size).add(s, changes) }

// check returns an error if changes have keys that are too long, or do not belong in this store.
func (s *Store) check(changes []store.Change) error {
	for _, c := range changes {
		prefix, err := s.prefix(c.Kind)
		if err != nil {
			return err
		}
		if n := len(prefix) + len(c.ID); n > coord.KeyMax {
			return fmt.Errorf("%w: a key of %d bytes, at most %d", coord.ErrTooLarge, n, coord.KeyMax)
		}
	}
	return nil
}

// write makes the changes of a group durable in one transaction.
func (s *Store) write(group []commit) error {
	var all []coord.Change
	index := map[string]int{}
	written := map[string]blob{}
	for _, c := range group {
		for _, change := range c.changes {
			prefix, _ := s.prefix(change.Kind)
			key := prefix + change.ID
			put := coord.Change{Key: key, Value: change.Value, Delete: change.Value == nil}
			delete(written, key)
			if inPieces(change.Value) {
				b, err := s.writePieces(key, change.Value)
				if err != nil {
					return err
				}
				put.Value, written[key] = b.encode(), b
			}
			if i, twice := index[key]; twice {
				all[i] = put
				continue
			}
			index[key] = len(all)
			all = append(all, put)
		}
	}
	for key := range index {
		if strings.HasPrefix(key, s.o.Prefix+catalogKeys) {
			all = append(all, coord.Put(s.o.Prefix+catalogAt, nil))
			break
		}
	}
	if err := s.settle(all); err != nil {
		for key, b := range written {
			_ = s.dropPieces(key, b)
		}
		return err
	}
	for key := range index {
		if old, there := s.blobs[key]; there {
			delete(s.blobs, key)
			_ = s.dropPieces(key, old) // if this fails, the next term deletes the pieces
		}
	}
	for key, b := range written {
		s.blobs[key] = b
	}
	return nil
}

// last is the value of the key seq.
type last struct {
	Term   int64  `json:"term"`
	Number uint64 `json:"number"`
}

// settle makes changes exactly once, even if it needs several attempts. If it returns an error, the changes will never
// be made. The exception is ErrOver: then the outcome is unknown.
func (s *Store) settle(changes []coord.Change) error {
	s.number++
	mine := last{s.o.Term.Revision, s.number}
	value, err := json.Marshal(mine)
	if err != nil {
		panic(err) // a bug: numbers always encode
	}
	all := append(changes, coord.Put(s.seqKey(), value))
	when := []coord.Condition{s.o.Term, coord.Unchanged(s.seqKey(), s.seq)}
	for unsure := false; s.ctx.Err() == nil; s.rest() {
		done, at, err := s.o.Coordinator.Commit(s.ctx, when, all)
		switch {
		case err == nil && done:
			s.seq = at
			return nil
		case err == nil:
			return s.find(mine)
		case errors.Is(err, coord.ErrUnknown):
			unsure = true // this attempt may still succeed, so an error of a later attempt is not final either
		case errors.Is(err, coord.ErrUnavailable), unsure:
		default:
			return err
		}
	}
	return ErrOver
}

// find is called when a condition of a transaction does not hold. It checks whether an earlier attempt has succeeded.
func (s *Store) find(mine last) error {
	found, err := s.read(coord.Query{Key: s.seqKey()})
	if err != nil {
		return ErrOver
	}
	var is last
	if len(found.KVs) == 0 || json.Unmarshal(found.KVs[0].Value, &is) != nil || is != mine {
		return ErrOver
	}
	s.seq = found.KVs[0].Changed
	return nil
}
