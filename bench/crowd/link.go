package crowd

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/cluster"
	"troupe/bench/loadgen"
	"troupe/messages/coord"
)

// Counts are requests to the coordinator.
type Counts struct {
	Directory  int64 // transactions that claim and end game sessions
	Placements int64 // transactions of the leader's store
	Loads      int64 // transactions that write loads
	Other      int64 // other transactions: registrations, elections
	Renewals   int64 // of leases; the coordinator does not store them
	Bytes      int64 // of keys and values that are written
}

// Minus returns the requests since an earlier moment.
func (c Counts) Minus(o Counts) Counts {
	return Counts{c.Directory - o.Directory, c.Placements - o.Placements, c.Loads - o.Loads, c.Other - o.Other, c.Renewals - o.Renewals, c.Bytes - o.Bytes}
}

// traffic is what all nodes together send to the coordinator and receive.
type traffic struct {
	traffic sync.Mutex // guards the fields below
	counts  Counts
	sent    map[string]time.Time // when the last load of a key was sent
	lag     *loadgen.Histogram   // from there until a watch delivered it
}

// Counts returns the requests since the start.
func (t *traffic) Counts() Counts {
	t.traffic.Lock()
	defer t.traffic.Unlock()
	return t.counts
}

// count counts a transaction by the first key that it changes.
func (t *traffic) count(changes []coord.Change) {
	t.traffic.Lock()
	defer t.traffic.Unlock()
	for _, c := range changes {
		t.counts.Bytes += int64(len(c.Key) + len(c.Value))
	}
	if len(changes) == 0 {
		return
	}
	switch key := strings.TrimPrefix(changes[0].Key, string(keys)); {
	case strings.HasPrefix(key, "game/"), strings.HasPrefix(key, "host/"):
		t.counts.Directory++
	case strings.HasPrefix(key, "place/"), strings.HasPrefix(key, "event/"):
		t.counts.Placements++
	case strings.HasPrefix(key, "load/"):
		t.counts.Loads++
		t.sent[changes[0].Key] = time.Now()
	default:
		t.counts.Other++
	}
}

func (t *traffic) renewed() {
	t.traffic.Lock()
	defer t.traffic.Unlock()
	t.counts.Renewals++
}

// arrived records how long loads took to reach a watch.
func (t *traffic) arrived(b coord.Batch) {
	now := time.Now()
	for _, e := range b.Events {
		t.traffic.Lock()
		sent, known := t.sent[e.Key]
		t.traffic.Unlock()
		if known && !e.Deleted {
			t.lag.Record(now.Sub(sent))
		}
	}
}

// link is a node's connection to the coordinator. It implements cluster.Coordinator. While it is cut, nothing is
// answered.
type link struct {
	to      cluster.Coordinator
	traffic *traffic
	state   atomic.Pointer[linkState]
}

// linkState is replaced when the link is cut or healed.
type linkState struct {
	cut  bool
	over context.Context // ends with the state
	end  context.CancelFunc
}

func newLink(to cluster.Coordinator, t *traffic) *link {
	l := &link{to: to, traffic: t}
	l.set(false)
	return l
}

func (l *link) cut()  { l.set(true) }
func (l *link) heal() { l.set(false) }

func (l *link) set(cut bool) {
	s := &linkState{cut: cut}
	s.over, s.end = context.WithCancel(context.Background())
	if old := l.state.Swap(s); old != nil {
		old.end()
	}
}

// attempt is the timeout of a request to a coordinator that does not answer.
const attempt = time.Second

// do makes a request, unless the link is cut: then it returns the error in lost after some time. A request that is under
// way when the link is cut has no answer either.
func do[A any](ctx context.Context, l *link, lost error, f func(ctx context.Context) (A, error)) (none A, _ error) {
	s := l.state.Load()
	if s.cut {
		_ = sleep(ctx, attempt)
		return none, lost
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()
	answer, err := f(ctx)
	if s.over.Err() != nil {
		return none, lost
	}
	return answer, err
}

// Read implements cluster.Coordinator.
func (l *link) Read(ctx context.Context, q coord.Query) (coord.Found, error) {
	return do(ctx, l, coord.ErrUnavailable, func(ctx context.Context) (coord.Found, error) { return l.to.Read(ctx, q) })
}

// Commit implements cluster.Coordinator.
func (l *link) Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (done bool, at int64, err error) {
	type answer struct {
		done bool
		at   int64
	}
	a, err := do(ctx, l, coord.ErrUnknown, func(ctx context.Context) (a answer, err error) {
		l.traffic.count(changes)
		a.done, a.at, err = l.to.Commit(ctx, when, changes)
		return a, err
	})
	return a.done, a.at, err
}

// Watch implements cluster.Coordinator.
func (l *link) Watch(ctx context.Context, prefix string, after int64) <-chan coord.Batch {
	batches := make(chan coord.Batch)
	go func() {
		defer close(batches)
		last := coord.Batch{Err: coord.ErrUnavailable} // unless the coordinator ends the watch
		if s := l.state.Load(); s.cut {
			_ = sleep(ctx, attempt)
		} else {
			last.Err = l.pass(ctx, s, prefix, after, batches)
		}
		select {
		case batches <- last:
		case <-ctx.Done():
		}
	}()
	return batches
}

// pass passes the batches of a watch on, until the watch ends or the link is cut.
func (l *link) pass(ctx context.Context, s *linkState, prefix string, after int64, to chan<- coord.Batch) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.over, cancel)()
	for b := range l.to.Watch(ctx, prefix, after) {
		switch l.traffic.arrived(b); {
		case s.over.Err() != nil:
			return coord.ErrUnavailable
		case b.Err != nil:
			return b.Err
		}
		select {
		case to <- b:
		case <-ctx.Done():
		}
	}
	return coord.ErrUnavailable
}

// Grant implements cluster.Coordinator.
func (l *link) Grant(ctx context.Context, ttl time.Duration) (coord.Lease, error) {
	return do(ctx, l, coord.ErrUnavailable, func(ctx context.Context) (coord.Lease, error) { return l.to.Grant(ctx, ttl) })
}

// Renew implements cluster.Coordinator.
func (l *link) Renew(ctx context.Context, lease coord.Lease) error {
	_, err := do(ctx, l, coord.ErrUnavailable, func(ctx context.Context) (struct{}, error) {
		l.traffic.renewed()
		return struct{}{}, l.to.Renew(ctx, lease)
	})
	return err
}

// Revoke implements cluster.Coordinator.
func (l *link) Revoke(ctx context.Context, lease coord.Lease) error {
	_, err := do(ctx, l, coord.ErrUnavailable, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.to.Revoke(ctx, lease) })
	return err
}

// Compact implements cluster.Coordinator.
func (l *link) Compact(ctx context.Context, revision int64) error {
	_, err := do(ctx, l, coord.ErrUnavailable, func(ctx context.Context) (struct{}, error) { return struct{}{}, l.to.Compact(ctx, revision) })
	return err
}
