package store

import (
	"errors"
	"strings"

	"troupe/messages"
)

// Damage is a record that cannot be used: it was changed since it was written, or is
// inconsistent.
type Damage struct {
	Kind Kind
	ID   string
	Err  error
}

// String names the record and the fault. The id of a player session is shortened, because it
// is a secret to log in with.
func (d Damage) String() string { return d.Name() + ": " + d.Err.Error() }

// Name is the kind and the id, shortened as String does.
func (d Damage) Name() string {
	id := d.ID
	if d.Kind == PlayerSession || strings.HasPrefix(id, "psess-") { // the kind may be what is damaged
		id = messages.PlayerSessionID(id).Short()
	}
	return string(d.Kind) + " " + id
}

// ErrChanged says that a record is not what was written: its sum is wrong.
var ErrChanged = errors.New("is not what was written")
