package shared

import (
	"context"
	"errors"
	"strings"

	"troupe/actors/cluster"
	"troupe/actors/store"
	"troupe/messages/coord"
)

// Follower passes on the catalog of a cluster, no matter which node leads: first all records, then each change. Its
// methods may be called from any goroutine.
type Follower struct {
	coordinator cluster.Coordinator
	prefix      string
	replica     *cluster.Replica
	ctx         context.Context // context of Run
}

// NewFollower returns a Follower of the records below a prefix, which must end with a slash. Run calls apply with the
// changes of one or more transactions, in order.
func NewFollower(c cluster.Coordinator, prefix string, apply func(changes []store.Change)) *Follower {
	f := &Follower{coordinator: c, prefix: prefix}
	f.replica = cluster.NewReplica(c, prefix+catalogKeys, func(c cluster.Changes) { apply(f.changes(c)) })
	return f
}

// Run follows the catalog until ctx ends. It may be called once.
func (f *Follower) Run(ctx context.Context) {
	f.ctx = ctx
	f.replica.Run(ctx)
}

// Synced returns once all changes that were answered before the call have been passed on. The error is the coordinator's
// or ctx's.
func (f *Follower) Synced(ctx context.Context) error {
	found, err := f.coordinator.Read(ctx, coord.Query{Key: f.prefix + catalogAt})
	if err != nil {
		return err
	}
	at := int64(1) // the revision of the first listing is at least 1
	if len(found.KVs) > 0 {
		at = found.KVs[0].Changed
	}
	return f.replica.WaitFor(ctx, at)
}

// changes converts the changes of a Replica to changes of a store. It reads values that are stored in pieces.
func (f *Follower) changes(c cluster.Changes) (all []store.Change) {
	for _, e := range c.Events {
		kind, id, is := strings.Cut(strings.TrimPrefix(e.Key, f.prefix+catalogKeys), "/")
		if !is {
			continue
		}
		change := store.Change{Kind: store.Kind(kind), ID: id}
		if !e.Deleted {
			value, err := f.value(e.KV, c.At)
			if err != nil {
				continue // the record has been replaced; the next change contains the new value
			}
			change.Value = value
		}
		all = append(all, change)
	}
	return all
}

// value returns the value of a record at a revision. If that revision has been compacted, it returns the current value.
func (f *Follower) value(kv coord.KV, at int64) ([]byte, error) {
	read := func(q coord.Query) (coord.Found, error) {
		for {
			found, err := f.coordinator.Read(f.ctx, q)
			switch {
			case errors.Is(err, coord.ErrCompacted):
				q.At = 0
			case !errors.Is(err, coord.ErrUnavailable) || f.ctx.Err() != nil:
				return found, err
			default:
				cluster.Sleep(f.ctx, pause)
			}
		}
	}
	value, err := whole(read, f.prefix, kv, at)
	if err == nil && value == nil {
		value = []byte{}
	}
	return value, err
}
