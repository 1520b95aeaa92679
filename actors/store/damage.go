package store

import (
	"errors"
	"fmt"

	"troupe/messages"
)

// Damage is a record that cannot be used: it is not what was written, or makes no sense.
type Damage struct {
	Kind Kind
	ID   string
	Err  error
}

// String names the record and what is wrong. The id of a player session is shortened,
// because who has it may take the seat.
func (d Damage) String() string { return d.Name() + ": " + d.Err.Error() }

// Name is the kind and the id, shortened as String does.
func (d Damage) Name() string {
	id := d.ID
	if d.Kind == PlayerSession {
		id = messages.PlayerSessionID(id).Short()
	}
	return string(d.Kind) + " " + id
}

// ErrChanged says that a record is not what was written: its sum is wrong.
var ErrChanged = errors.New("is not what was written")

// damagedMax is how many records a DamagedError names.
const damagedMax = 1000

// DamagedError is the error of Load when records of a kind are not what was written. All
// others have been read.
type DamagedError struct {
	Path    string
	Records []Damage // 1,000 at most
	Count   int      // of all
}

// Error names the first record.
func (e *DamagedError) Error() string {
	more := ""
	if e.Count > 1 {
		more = fmt.Sprintf(" (and %d more)", e.Count-1)
	}
	return fmt.Sprintf("store: %s is damaged: the %s %v%s; restore a backup, or see troupe store check and troupe serve --skip-damaged",
		e.Path, e.Records[0].Name(), e.Records[0].Err, more)
}

func (e *DamagedError) add(d Damage) {
	if e.Count++; len(e.Records) < damagedMax {
		e.Records = append(e.Records, d)
	}
}

// WithoutDamaged takes the damaged records out of an error of Load, for callers that can
// do without them. Other errors stay.
func WithoutDamaged(err error) ([]Damage, error) {
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return damaged.Records, nil
	}
	return nil, err
}
