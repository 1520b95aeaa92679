package store

import (
	"encoding/json"
	"fmt"
)

// Read calls take with each record of a kind and its stored size. Records that cannot be decoded, and those for which take returns
// an error, are added to u.
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

// InEffect returns the records to start with: the stored ones, and the configured ones that were never changed or deleted. The
// store keeps a record of a configured one that was deleted; deleted recognises it.
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
