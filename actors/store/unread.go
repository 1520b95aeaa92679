package store

import "errors"

// ErrIncomplete is what is wrong with a record that lacks what nothing works without.
var ErrIncomplete = errors.New("is not complete")

// Unread are the records that the owner of some kinds goes on without: they are not what was written, or
// make no sense. They stay in the store until something else is stored in their place. It is for one
// goroutine at a time; the zero value is ready for use.
type Unread struct {
	damaged []Damage
	ids     map[Kind]map[string]bool
}

// Load is Load of a store, which adds the records that are not what was written.
func (u *Unread) Load(s Store, kind Kind, f func(id string, value []byte) error) error {
	damaged, err := s.Load(kind, f)
	for _, d := range damaged {
		u.Add(d.Kind, d.ID, d.Err)
	}
	return err
}

// Add takes note of a record, and of what is wrong with it.
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

// Has reports whether a record is one of them.
func (u *Unread) Has(kind Kind, id string) bool { return u.ids[kind][id] }

// IDs are those of a kind. The map must not be changed.
func (u *Unread) IDs(kind Kind) map[string]bool { return u.ids[kind] }

// Damaged returns all, in the order of Add.
func (u *Unread) Damaged() []Damage { return u.damaged }
