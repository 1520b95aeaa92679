package cluster

import (
	"context"
	"time"

	"troupe/messages/coord"
)

// Coordinator is a small part of etcd. Its methods may be called from any goroutine, and return soon after ctx ends. If
// a method's comment names no other error, the error is coord.ErrUnavailable when the coordinator does not answer.
type Coordinator interface {
	// Read returns records in a state that includes every earlier commit of any client.
	Read(ctx context.Context, q coord.Query) (coord.Found, error)
	// Commit makes all changes, in one revision, if all conditions hold. at is that revision, or the revision at which a
	// condition did not hold. Errors: coord.ErrUnknown, ErrTooLarge, ErrFull, and ErrGone if a lease has ended.
	Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (done bool, at int64, err error)
	// Watch sends all changes that were made after a revision to records whose keys begin with prefix. The channel is
	// closed when ctx ends, or after a batch with an error. A slow reader receives more changes in each batch.
	Watch(ctx context.Context, prefix string, after int64) <-chan coord.Batch
	// Grant creates a lease that ends when it has not been renewed for ttl. ttl is a number of whole seconds. A lease
	// whose id was lost with the answer expires by itself.
	Grant(ctx context.Context, ttl time.Duration) (coord.Lease, error)
	// Renew restarts the time of a lease. Error: coord.ErrGone.
	Renew(ctx context.Context, l coord.Lease) error
	// Revoke ends a lease and deletes its records. If the lease has already ended, Revoke returns nil.
	Revoke(ctx context.Context, l coord.Lease) error
	// Compact discards the history before a revision: reads and watches of older revisions get coord.ErrCompacted.
	// Current records are kept. If that history is already discarded, Compact returns nil.
	Compact(ctx context.Context, revision int64) error
}
