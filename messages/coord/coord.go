package coord

import (
	"errors"
	"fmt"
)

// Limits of one Commit. A coordinator must allow at least these.
const (
	OpsMax   = 100     // number of conditions and changes
	BytesMax = 1 << 20 // total size of the keys and values of all changes
	ValueMax = 512 << 10
	KeyMax   = 1 << 10
)

// Errors of a coordinator and of calls between nodes. Any other error, such as wrong credentials, means that nothing
// has changed and that a retry will not help.
var (
	// ErrUnknown says that there was no answer in time. The change may have happened, or may still happen.
	ErrUnknown = errors.New("coordinator: no answer: it may have happened")
	// ErrUnavailable says that the coordinator did not answer and that nothing has changed.
	ErrUnavailable = errors.New("coordinator: no answer")
	// ErrCompacted says that the requested changes are no longer kept. The caller must read the records again.
	ErrCompacted = errors.New("coordinator: this revision is no longer kept")
	// ErrGone says that a lease has expired or was revoked.
	ErrGone = errors.New("coordinator: the lease is over")
	// ErrFull says that the coordinator has no space left and that nothing has changed.
	ErrFull = errors.New("coordinator: its database is full: free space (etcdctl compact, defrag) or raise the quota of etcd, then etcdctl alarm disarm")
	// ErrRefused says that a node is not running: nobody listens at its address, or a different process does.
	ErrRefused = errors.New("node: not running")
	// ErrUntrusted says that a node and this one do not accept each other's certificates, or that only one of them has
	// any. It comes with ErrUnavailable, and also if the other process ends during the handshake.
	ErrUntrusted = errors.New("the certificates do not fit")
	// ErrTooLarge says that a request exceeds the limits above or changes a key twice, and that nothing has changed.
	ErrTooLarge = errors.New("coordinator: request beyond its limits")
)

// Lease is the id of a lease. Keys with a lease are deleted when the lease ends. 0 means no lease.
type Lease int64

// KV is a record.
type KV struct {
	Key     string
	Value   []byte // must not be modified
	Created int64  // revision at which the key was created
	Changed int64  // revision of the last change
	Lease   Lease
}

// Query requests the record of one key or the records of many keys.
type Query struct {
	Key    string
	Else   string // the key of the record to return if there is none at Key; without Prefix, At and Keys
	Prefix bool   // request all records whose keys begin with Key, in the order of their keys
	After  string // with Prefix: only keys that come after this one
	Most   int    // maximum number of records; 0 means all
	Keys   bool   // return keys without values
	At     int64  // return the state at this revision, or ErrCompacted; 0 means the current state (linearizable)
}

// Found is the answer to a Query.
type Found struct {
	KVs  []KV
	More bool  // there are more records than Query.Most
	At   int64 // the revision of the returned state
}

// Condition must hold for a change to be made. Revision 0 requires that the key does not exist.
type Condition struct {
	Key      string
	Created  bool // compare the revision at which the key was created, not that of its last change
	Below    bool // no record whose key begins with Key was written after Revision; without Created
	Revision int64
}

// Absent returns the condition that a key does not exist.
func Absent(key string) Condition { return Condition{Key: key} }

// Unchanged returns the condition that a record was last changed at the given revision.
func Unchanged(key string, revision int64) Condition {
	return Condition{Key: key, Revision: revision}
}

// Incarnation returns the condition that a key has existed since the given revision. The record may have been changed
// since then.
func Incarnation(key string, revision int64) Condition {
	return Condition{Key: key, Created: true, Revision: revision}
}

// UnchangedBelow returns the condition that no record whose key begins with the prefix was written after the given
// revision. Records that were deleted do not count.
func UnchangedBelow(prefix string, revision int64) Condition {
	return Condition{Key: prefix, Below: true, Revision: revision}
}

// Change writes a record or, if Delete is set, deletes it. Deleting a key that does not exist is not an error.
type Change struct {
	Key    string
	Value  []byte
	Lease  Lease // the record is deleted when the lease ends
	Delete bool
}

// Put returns a change that writes a record without a lease.
func Put(key string, value []byte) Change { return Change{Key: key, Value: value} }

// Delete returns a change that deletes a record.
func Delete(key string) Change { return Change{Key: key, Delete: true} }

// Batch contains changes in the order of their revisions. The changes of one revision are always in the same batch.
type Batch struct {
	Events []Event
	At     int64 // all changes up to this revision have been delivered
	Err    error // set only in the last batch: ErrCompacted or ErrUnavailable; then start a new watch after the last delivered revision
}

// Event is a change of a record. For a deleted record only Key and Changed are set.
type Event struct {
	KV
	Deleted bool
}

// Check returns ErrTooLarge if a commit exceeds the limits of a coordinator. The error says what is too large.
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
