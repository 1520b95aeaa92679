package cluster

import (
	"context"
	"time"

	"troupe/messages/coord"
)

// Coordinator is a small part of etcd. Its methods may be called from any goroutine, and return soon after ctx ends. Where nothing else
// is said, the error is coord.ErrUnavailable if the coordinator did not answer.
type Coordinator interface {
	// Read returns records as they are once all earlier commits are done, whoever made them.
	Read(ctx context.Context, q coord.Query) (coord.Found, error)
	// Commit makes all changes, in one revision, if all conditions hold. At is that revision, or the one at which a condition did not
	// hold. Errors: coord.ErrUnknown, ErrTooLarge, ErrFull, and ErrGone for a lease that is over.
	Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (done bool, at int64, err error)
	// Watch sends all changes of records whose keys begin with prefix and that were made after a revision. The channel is closed when
	// ctx ends, or after a batch with an error. A reader that is slow is sent more at once.
	Watch(ctx context.Context, prefix string, after int64) <-chan coord.Batch
	// Grant makes a lease, which ends when it was not renewed for ttl, in whole seconds. Unknown leases expire by themselves.
	Grant(ctx context.Context, ttl time.Duration) (coord.Lease, error)
	// Renew begins the time of a lease anew. Error: coord.ErrGone.
	Renew(ctx context.Context, l coord.Lease) error
	// Revoke ends a lease and deletes its records. One that is over is no error.
	Revoke(ctx context.Context, l coord.Lease) error
	// Compact forgets what was before a revision: older reads and watches get coord.ErrCompacted. Records stay. It is no error if that
	// was forgotten already.
	Compact(ctx context.Context, revision int64) error
}
