package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"troupe/messages"
)

// Damage describes a record that cannot be used, because it has changed since it was written or because it is
// inconsistent.
type Damage struct {
	Kind Kind
	ID   string
	Err  error
}

// String returns the record's name and its fault. It shortens the id of a player session, because that id is the
// player's login credential.
func (d Damage) String() string { return d.Name() + ": " + d.Err.Error() }

// Name returns the kind and the id of the record. The id is shortened as in String.
func (d Damage) Name() string {
	id := d.ID
	if d.Kind == PlayerSession || strings.HasPrefix(id, "psess-") { // the kind may be damaged too
		id = messages.PlayerSessionID(id).Short()
	}
	return string(d.Kind) + " " + id
}

// ErrChanged says that a record has changed since it was written.
var ErrChanged = errors.New("has a wrong checksum")

// ErrIncomplete says that a record lacks a required field.
var ErrIncomplete = errors.New("is not complete")

// Unread lists the damaged records of the kinds that one owner reads. They are damaged until they are overwritten.
// Unread is not safe for concurrent use.
type Unread struct {
	damaged []Damage
	ids     map[Kind]map[string]bool
}

// Load calls Store.Load and adds the damaged records to u.
func (u *Unread) Load(s Store, kind Kind, f func(id string, value []byte) error) error {
	damaged, err := s.Load(kind, f)
	for _, d := range damaged {
		u.Add(d.Kind, d.ID, d.Err)
	}
	return err
}

// Add adds a damaged record with its fault.
func (u *Unread) Add(kind Kind, id string, err error) {
	if u.ids == nil {
		u.ids = make(map[Kind]map[string]bool)
	}
	if u.ids[kind] == nil {
		u.ids[kind] = make(map[string]bool)
	}
	u.ids[kind][id] = true
	u.damaged = append(u.damaged, Damage{Kind: kind, ID: id, Err: err})
}

// Has reports whether a record is damaged.
func (u *Unread) Has(kind Kind, id string) bool { return u.ids[kind][id] }

// IDs returns the ids of the damaged records of a kind. The caller must not change the map.
func (u *Unread) IDs(kind Kind) map[string]bool { return u.ids[kind] }

// Damaged returns all damaged records in the order in which they were added.
func (u *Unread) Damaged() []Damage { return u.damaged }

// Read calls take with each record of a kind and its stored size in bytes. Records that cannot be decoded, or for which
// take returns an error, are added to u.
func Read[T any](s Store, u *Unread, kind Kind, take func(id string, record *T, bytes int) error) error {
	return u.Load(s, kind, func(id string, value []byte) error {
		record := new(T)
		err := json.Unmarshal(value, record)
		if err != nil {
			err = fmt.Errorf("cannot be read: %w", err)
		} else {
			err = take(id, record, len(value))
		}
		if err != nil {
			u.Add(kind, id, err)
		}
		return nil
	})
}

// InEffect returns the records to start with: the stored ones, and those configured ones that were never changed or
// deleted. If a configured record was deleted, the store keeps a marker record, which deleted recognizes.
func InEffect[T any](stored, configured []T, name func(T) string, deleted func(T) bool) (all []T) {
	known := make(map[string]bool, len(stored))
	for _, r := range stored {
		known[name(r)] = true
		if !deleted(r) {
			all = append(all, r)
		}
	}
	for _, r := range configured {
		if !known[name(r)] {
			all = append(all, r)
		}
	}
	return all
}
