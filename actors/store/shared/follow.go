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
	_, err := f.synced(ctx)
	return err
}

// synced implements Synced. at is the revision of the newest change, or 0 if there was none.
func (f *Follower) synced(ctx context.Context) (at int64, err error) {
	found, err := f.coordinator.Read(ctx, coord.Query{Key: f.prefix + catalogAt})
	if err != nil {
		return 0, err
	}
	if len(found.KVs) > 0 {
		at = found.KVs[0].Changed
	}
	return at, f.replica.WaitFor(ctx, max(1, at)) // the revision of the first listing is at least 1
}

// ErrNotWriter means that the condition of a Change does not hold.
var ErrNotWriter = errors.New("store: this node is not registered at the moment")

// Change commits small changes of the catalog without a term. It is for records that any node may change, while the
// condition writer holds. It calls decide when this node's copy has all changes that were answered before the call, and
// again if another change came first or the coordinator did not answer; the changes of the last call count. It returns
// once the copy has the changes. It insists until ctx ends; then a change may still be made. The error is decide's, the
// coordinator's, ErrNotWriter or ctx's.
func (f *Follower) Change(ctx context.Context, writer coord.Condition, decide func() ([]store.Change, error)) error {
	later := func(err error) bool { // whether to try again
		return (errors.Is(err, coord.ErrUnavailable) || errors.Is(err, coord.ErrUnknown)) && cluster.Sleep(ctx, pause)
	}
	for refused := int64(-1); ; {
		at, err := f.synced(ctx)
		if later(err) {
			continue
		}
		if err != nil {
			return err
		}
		changes, err := decide()
		if err != nil || len(changes) == 0 {
			return err
		}
		if at == refused { // no other change came first
			return ErrNotWriter
		}
		all := []coord.Change{coord.Put(f.prefix+catalogAt, nil)}
		for _, c := range changes {
			all = append(all, coord.Change{Key: f.prefix + catalogKeys + string(c.Kind) + "/" + c.ID, Value: c.Value, Delete: c.Value == nil})
		}
		done, revision, err := f.coordinator.Commit(ctx, []coord.Condition{writer, coord.Unchanged(f.prefix+catalogAt, at)}, all)
		switch {
		case done:
			return f.replica.WaitFor(ctx, revision)
		case err == nil:
			refused = at
		case !later(err):
			return err
		}
	}
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
