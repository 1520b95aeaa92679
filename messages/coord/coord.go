package coord

import (
	"errors"
	"fmt"
)

// Limits of one Commit; a coordinator allows at least these.
const (
	OpsMax   = 100     // conditions and changes
	BytesMax = 1 << 20 // keys and values of all changes
	ValueMax = 512 << 10
	KeyMax   = 1 << 10
)

// Errors of a coordinator and of calls between nodes. Others, such as wrong credentials, did not change anything, and do not go away by themselves.
var (
	// ErrUnknown says that a change may have happened, or happens yet: there was no answer in time.
	ErrUnknown = errors.New("coordinator: no answer: it may have happened")
	// ErrUnavailable says that the coordinator did not answer, and that nothing changed.
	ErrUnavailable = errors.New("coordinator: no answer")
	// ErrCompacted says that the changes asked for are no longer kept: read the records anew.
	ErrCompacted = errors.New("coordinator: this revision is no longer kept")
	// ErrGone says that a lease has expired or was revoked.
	ErrGone = errors.New("coordinator: the lease is over")
	// ErrFull says that the coordinator has no space left, and that nothing changed.
	ErrFull = errors.New("coordinator: its database is full")
	// ErrRefused says that a node does not run: nobody listens at its address, or another process does.
	ErrRefused = errors.New("node: not running")
	// ErrTooLarge says that a request exceeds the limits above, or changes a key twice, and that nothing changed.
	ErrTooLarge = errors.New("coordinator: request beyond its limits")
)

// Lease holds keys until it ends. 0 is none.
type Lease int64

// KV is a record.
type KV struct {
	Key     string
	Value   []byte // not to be modified
	Created int64  // the revision at which the key came to be
	Changed int64  // the revision of its last change
	Lease   Lease
}

// Query asks for the record of a key, or for the records of many.
type Query struct {
	Key    string
	Prefix bool   // all records whose keys begin with Key, in order
	After  string // of those, only keys after this one
	Most   int    // at most so many; 0: all
	Keys   bool   // without values
	At     int64  // as they were at this revision, or ErrCompacted; 0: as they are, linearizable
}

// Found is the answer to a Query.
type Found struct {
	KVs  []KV
	More bool  // there are more than Most
	At   int64 // the revision that the answer stands for
}

// Condition is what must be so when a change is made. Revision 0 says that the key is absent.
type Condition struct {
	Key      string
	Created  bool // compares the revision of its creation, else that of its last change
	Revision int64
}

// Absent says that there is no such key.
func Absent(key string) Condition { return Condition{Key: key} }

// Unchanged says that the record was last changed at a revision.
func Unchanged(key string, revision int64) Condition {
	return Condition{Key: key, Revision: revision}
}

// Incarnation says that the key has existed since a revision, whatever was written to it meanwhile.
func Incarnation(key string, revision int64) Condition {
	return Condition{Key: key, Created: true, Revision: revision}
}

// Change writes a record or, if Delete is set, deletes it. Deleting an absent key is no error.
type Change struct {
	Key    string
	Value  []byte
	Lease  Lease // the record ends with it
	Delete bool
}

// Put writes a record without a lease.
func Put(key string, value []byte) Change { return Change{Key: key, Value: value} }

// Delete deletes a record.
func Delete(key string) Change { return Change{Key: key, Delete: true} }

// Batch has changes in the order of their revisions; those of one revision are never divided.
type Batch struct {
	Events []Event
	At     int64 // all changes up to this revision have come
	Err    error // only in the last one: ErrCompacted, or ErrUnavailable; then watch again after the revision seen last
}

// Event is a change of a record. Of a deleted one only Key and Changed are set.
type Event struct {
	KV
	Deleted bool
}

// Check returns ErrTooLarge, with what is too large, for what a coordinator must not be asked for.
func Check(when []Condition, changes []Change) error {
	if n := len(when) + len(changes); n > OpsMax {
		return fmt.Errorf("%w: %d conditions and changes, at most %d", ErrTooLarge, n, OpsMax)
	}
	bytes := 0
	for i, c := range changes {
		if len(c.Key) == 0 || len(c.Key) > KeyMax {
			return fmt.Errorf("%w: a key of %d bytes, at most %d", ErrTooLarge, len(c.Key), KeyMax)
		}
		if len(c.Value) > ValueMax {
			return fmt.Errorf("%w: %s has %d bytes, at most %d", ErrTooLarge, c.Key, len(c.Value), ValueMax)
		}
		for _, other := range changes[:i] {
			if other.Key == c.Key {
				return fmt.Errorf("%w: %s is changed twice", ErrTooLarge, c.Key)
			}
		}
		bytes += len(c.Key) + len(c.Value)
	}
	if bytes > BytesMax {
		return fmt.Errorf("%w: changes of %d bytes, at most %d", ErrTooLarge, bytes, BytesMax)
	}
	return nil
}
