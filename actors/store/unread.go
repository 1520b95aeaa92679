package store

import "errors"

// ErrIncomplete says that a record lacks a required field.
var ErrIncomplete = errors.New("is not complete")

// Unread lists the damaged records of one owner's kinds. They stay in the store until they
// are overwritten. Only one goroutine may use it at a time; the zero value is ready for use.
type Unread struct {
	damaged []Damage
	ids     map[Kind]map[string]bool
}

// Load calls Store.Load and adds the damaged records.
func (u *Unread) Load(s Store, kind Kind, f func(id string, value []byte) error) error {
	damaged, err := s.Load(kind, f)
	for _, d := range damaged {
		u.Add(d.Kind, d.ID, d.Err)
	}
	return err
}

// Add adds a record with its fault.
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

// IDs returns the ids of the damaged records of a kind. The map must not be changed.
func (u *Unread) IDs(kind Kind) map[string]bool { return u.ids[kind] }

// Damaged returns all damaged records, in the order of Add.
func (u *Unread) Damaged() []Damage { return u.damaged }
