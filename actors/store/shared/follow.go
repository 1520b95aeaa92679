package shared

import (
	"context"
	"errors"
	"strings"

	"troupe/actors/cluster"
	"troupe/actors/store"
	"troupe/messages/coord"
)

// Follower passes on the catalog of a cluster, whoever leads: first all of its records, then each change. Its methods may be called from any
// goroutine.
type Follower struct {
	coordinator cluster.Coordinator
	prefix      string
	replica     *cluster.Replica
	ctx         context.Context // of Run
}

// NewFollower returns a Follower of the records below a prefix, which has a slash at its end. Apply gets the changes of one transaction, or of
// several, in order, from the goroutine of Run. Restored says that the coordinator was restored from a backup.
func NewFollower(c cluster.Coordinator, prefix string, apply func(changes []store.Change)) *Follower {
	f := &Follower{coordinator: c, prefix: prefix}
	f.replica = cluster.NewReplica(c, prefix+catalogKeys, func(c cluster.Changes) { apply(f.changes(c)) })
	return f
}

// Run follows until ctx ends. It may be called once.
func (f *Follower) Run(ctx context.Context) {
	f.ctx = ctx
	f.replica.Run(ctx)
}

// Synced returns once all changes that were answered before the call have been passed on. The error is the coordinator's, or ctx's.
func (f *Follower) Synced(ctx context.Context) error {
	found, err := f.coordinator.Read(ctx, coord.Query{Key: f.prefix + catalogAt})
	if err != nil {
		return err
	}
	at := int64(1) // the first listing
	if len(found.KVs) > 0 {
		at = found.KVs[0].Changed
	}
	return f.replica.WaitFor(ctx, at)
}

// changes returns what a Replica has learned as changes of a store. Values in pieces are read.
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
				continue // it was replaced meanwhile: the next change has it
			}
			change.Value = value
		}
		all = append(all, change)
	}
	return all
}

// value returns the value of a record at a revision, or as it is now if that revision is not kept.
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
				rest(f.ctx)
			}
		}
	}
	value, err := whole(read, f.prefix, kv, at)
	if err == nil && value == nil {
		value = []byte{}
	}
	return value, err
}
