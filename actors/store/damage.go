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

// String returns the record's name and its fault. The id of a player session is shortened,
// because it is the secret with which the player logs in.
func (d Damage) String() string { return d.Name() + ": " + d.Err.Error() }

// Name returns the kind and the id, shortened as in String.
func (d Damage) Name() string {
	id := d.ID
	if d.Kind == PlayerSession || strings.HasPrefix(id, "psess-") { // the kind itself may be damaged
		id = messages.PlayerSessionID(id).Short()
	}
	return string(d.Kind) + " " + id
}

// ErrChanged says that a record has changed since it was written.
var ErrChanged = errors.New("has a wrong checksum")
