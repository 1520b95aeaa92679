package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/messages/coord"
)

const (
	attempt    = time.Second           // timeout of a request
	pauseMin   = 50 * time.Millisecond // pause before a request without an answer is repeated; doubled for each repetition, up to pauseMax
	pauseMax   = time.Second
	checkEvery = 5 * time.Second // interval at which a replica checks the coordinator's revision
	pageMax    = 1000            // maximum number of records in one read
	bumpMin    = 500_000_000     // a revision that is ahead by at least this much was raised after a restore; a restore adds 1,000,000,000, and some revisions are lost
)

// Replica is a copy of all records below a prefix. It lists the records and follows their changes. If it has missed
// changes, it lists the records again. Its methods may be called from any goroutine.
type Replica struct {
	coordinator Coordinator
	prefix      string
	apply       func(Changes)

	mu      sync.Mutex
	records map[string]coord.KV
	at      int64         // records contain all changes up to this revision; 0 means that nothing is known
	applied int64         // apply has been called for all changes up to this revision
	moved   chan struct{} // closed when applied changes
}

// Changes are the changes of a Replica.
type Changes struct {
	Events   []coord.Event // in the order of their revisions; after a new listing, each key has at most one event
	At       int64         // all changes up to this revision have arrived
	Restored bool          // the coordinator was restored from a backup, so At may be lower than before
}

// NewReplica returns a replica that is empty until Run fills it. Run calls apply once for every change, after the
// replica contains the change. apply must not block. It may be nil.
func NewReplica(c Coordinator, prefix string, apply func(Changes)) *Replica {
	if apply == nil {
		apply = func(Changes) {}
	}
	return &Replica{coordinator: c, prefix: prefix, apply: apply, records: map[string]coord.KV{}, moved: make(chan struct{})}
}

// Run keeps the replica up to date until ctx ends. It may be called once.
func (r *Replica) Run(ctx context.Context) {
	var p pause
	for listed := false; ctx.Err() == nil; p.rest(ctx) {
		before := r.At()
		if !listed && r.list(ctx) != nil {
			continue
		}
		err := r.follow(ctx)
		listed = errors.Is(err, coord.ErrUnavailable)
		if r.At() != before {
			p = 0
		}
	}
}

// At returns the revision up to which all changes are applied, or 0 if nothing is known yet.
func (r *Replica) At() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

// Get returns a record.
func (r *Replica) Get(key string) (coord.KV, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	kv, there := r.records[key]
	return kv, there
}

// Records returns all records, in the order of their keys.
func (r *Replica) Records() []coord.KV {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := make([]coord.KV, 0, len(r.records))
	for _, kv := range r.records {
		all = append(all, kv)
	}
	slices.SortFunc(all, func(a, b coord.KV) int { return strings.Compare(a.Key, b.Key) })
	return all
}

// WaitFor waits until the replica contains all changes up to a revision and has passed them to apply. The revision must
// belong to a change below the prefix, or must not be later than the revision of the listing. Other revisions do not
// advance the replica. The error is ctx's.
func (r *Replica) WaitFor(ctx context.Context, revision int64) error {
	for {
		r.mu.Lock()
		at, moved := r.applied, r.moved
		r.mu.Unlock()
		if at >= revision {
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// list reads all records at one revision and applies the differences.
func (r *Replica) list(ctx context.Context) error {
	all := map[string]coord.KV{}
	q := coord.Query{Key: r.prefix, Prefix: true, Most: pageMax}
	for {
		found, err := r.read(ctx, q)
		if err != nil {
			return err
		}
		for _, kv := range found.KVs {
			all[kv.Key] = kv
		}
		q.At = found.At
		if !found.More {
			break
		}
		q.After = found.KVs[len(found.KVs)-1].Key
	}
	r.replace(all, q.At)
	return nil
}

func (r *Replica) read(ctx context.Context, q coord.Query) (coord.Found, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return r.coordinator.Read(ctx, q)
}

// replace replaces the records of the replica by those of a listing.
func (r *Replica) replace(all map[string]coord.KV, at int64) {
	r.mu.Lock()
	c := Changes{Events: difference(r.records, all, at), At: at}
	c.Restored = r.at != 0 && (at < r.at || at-r.at >= bumpMin)
	r.records, r.at = all, at
	r.mu.Unlock()
	r.tell(c)
}

// difference returns the events that turn the old records into those of a listing at a revision.
func difference(old, listed map[string]coord.KV, at int64) (events []coord.Event) {
	for key, kv := range listed {
		was, there := old[key]
		if !there || was.Created != kv.Created || was.Changed != kv.Changed || was.Lease != kv.Lease || !bytes.Equal(was.Value, kv.Value) {
			events = append(events, coord.Event{KV: kv})
		}
	}
	for key := range old {
		if _, there := listed[key]; !there {
			events = append(events, coord.Event{KV: coord.KV{Key: key, Changed: at}, Deleted: true})
		}
	}
	slices.SortFunc(events, func(a, b coord.Event) int {
		return cmp.Or(cmp.Compare(a.Changed, b.Changed), strings.Compare(a.Key, b.Key))
	})
	return events
}

// tell calls apply, and then wakes the callers of WaitFor.
func (r *Replica) tell(c Changes) {
	r.apply(c)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.applied = c.At
	close(r.moved)
	r.moved = make(chan struct{})
}

// follow applies changes until the watch ends, and returns the reason. After ErrUnavailable, another watch may begin at
// the revision where this one ended.
func (r *Replica) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var checks sync.WaitGroup
	checks.Go(func() { r.check(ctx, cancel) })
	defer checks.Wait()
	defer cancel(nil)
	for b := range r.coordinator.Watch(ctx, r.prefix, r.At()) {
		r.take(b)
		if b.Err != nil {
			return b.Err
		}
	}
	return context.Cause(ctx)
}

// take applies a batch, unless the replica already contains its changes.
func (r *Replica) take(b coord.Batch) {
	r.mu.Lock()
	if b.At <= r.at {
		r.mu.Unlock()
		return
	}
	for _, e := range b.Events {
		if e.Deleted {
			delete(r.records, e.Key)
		} else {
			r.records[e.Key] = e.KV
		}
	}
	r.at = b.At
	r.mu.Unlock()
	r.tell(Changes{Events: b.Events, At: b.At})
}

// check ends a watch when the coordinator's revision is lower than the revision that the watch has reached. Such a watch
// would deliver nothing for a long time.
func (r *Replica) check(ctx context.Context, end context.CancelCauseFunc) {
	for Sleep(ctx, checkEvery) {
		before := r.At()
		if found, err := r.read(ctx, coord.Query{Key: r.prefix, Keys: true}); err == nil && found.At < before {
			end(coord.ErrCompacted)
			return
		}
	}
}

// pause is the length of the last pause before a retry.
type pause time.Duration

// rest doubles the pause and waits for it, or until ctx ends.
func (p *pause) rest(ctx context.Context) {
	*p = min(max(2**p, pause(pauseMin)), pause(pauseMax))
	Sleep(ctx, time.Duration(*p))
}

// Sleep waits for d, or until ctx ends. It reports whether d has passed before that.
func Sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 || ctx.Err() != nil {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
