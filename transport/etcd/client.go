package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"troupe/messages/coord"
)

// Options says how to reach etcd.
type Options struct {
	Endpoints      []string // URLs
	TLS            *tls.Config
	User, Password string
	Attempt        time.Duration // timeout of one request; 0: 1 s
}

// Client is a client of etcd. It is safe for concurrent use.
type Client struct {
	attempt   time.Duration
	endpoints []string
	tls       *tls.Config
	calls     *clientv3.Client // connected to one endpoint
	watches   *clientv3.Client // a second connection, because large responses would delay events on a shared one (S13)

	mu sync.Mutex // guards the field below
	at int        // index of the endpoint that answers calls
}

// Open creates a client. Only if a user is configured, it waits for etcd, at most until ctx ends.
func Open(ctx context.Context, o Options) (*Client, error) {
	c := &Client{attempt: cmp.Or(o.Attempt, time.Second), endpoints: o.Endpoints, tls: o.TLS, at: rand.IntN(max(1, len(o.Endpoints)))}
	config := clientv3.Config{
		Endpoints: o.Endpoints, TLS: o.TLS, Username: o.User, Password: o.Password, Logger: zap.NewNop(),
		DialTimeout: 2 * c.attempt, DialKeepAliveTime: 5 * time.Second, DialKeepAliveTimeout: 3 * time.Second,
		BackoffWaitBetween: 50 * time.Millisecond,
	}
	var err error
	if c.calls, err = connect(ctx, config); err != nil {
		return nil, fmt.Errorf("etcd: %w", err)
	}
	if c.watches, err = connect(ctx, config); err != nil {
		_ = c.calls.Close()
		return nil, fmt.Errorf("etcd: %w", err)
	}
	if len(c.endpoints) > 0 {
		c.calls.SetEndpoints(c.endpoints[c.at])
	}
	return c, nil
}

// connect creates a client of the library, which authenticates its user first.
func connect(ctx context.Context, config clientv3.Config) (*clientv3.Client, error) {
	for {
		c, err := clientv3.New(config)
		var refused rpctypes.EtcdError
		if err == nil || config.Username == "" || errors.As(rpctypes.Error(err), &refused) && permanent(refused) {
			return c, err
		}
		select {
		case <-time.After(config.BackoffWaitBetween):
		case <-ctx.Done():
			return nil, fmt.Errorf("no member answers: check that etcd runs, and cluster.etcd.endpoints: %w", err)
		}
	}
}

// Close ends all calls and watches.
func (c *Client) Close() error { return errors.Join(c.calls.Close(), c.watches.Close()) }

// once makes a single attempt, with a timeout.
func (c *Client) once(ctx context.Context, lost error, f func(context.Context) error) error {
	attempt, cancel := context.WithTimeout(clientv3.WithRequireLeader(ctx), c.attempt)
	defer cancel()
	return translate(f(attempt), lost)
}

// do makes a single attempt at the member that answers calls. If it is not answered, the next attempt goes to another
// member. The library would call all members in turn, so one that is slow or silent would delay every third call for as
// long as that lasts.
func (c *Client) do(ctx context.Context, lost error, f func(context.Context) error) error {
	c.mu.Lock()
	at := c.at
	c.mu.Unlock()
	began := time.Now()
	err := c.once(ctx, lost, f)
	enough := ctx.Err() == nil || time.Since(began) > c.attempt/2 // the caller may have given the member too little time
	if (errors.Is(err, coord.ErrUnavailable) || errors.Is(err, coord.ErrUnknown)) && enough {
		c.moveFrom(at)
	}
	return err
}

// moveFrom lets the next endpoint answer calls, unless another call has moved already.
func (c *Client) moveFrom(at int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at == at && len(c.endpoints) > 1 {
		c.at = (at + 1) % len(c.endpoints)
		c.calls.SetEndpoints(c.endpoints[c.at])
	}
}

// translate converts an error of etcd to an error of package coord. It returns lost if the outcome of the
// request is unknown.
func translate(err, lost error) error {
	var refused rpctypes.EtcdError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, rpctypes.ErrCompacted):
		return coord.ErrCompacted
	case errors.Is(err, rpctypes.ErrLeaseNotFound):
		return coord.ErrGone
	case errors.Is(err, rpctypes.ErrNoSpace):
		return coord.ErrFull
	case errors.Is(err, rpctypes.ErrRequestTooLarge):
		return coord.ErrTooLarge
	case errors.Is(err, rpctypes.ErrTooManyRequests), errors.Is(err, rpctypes.ErrNoLeader):
		return fmt.Errorf("%w: %w", coord.ErrUnavailable, err) // refused before it was proposed, so it had no effect
	case errors.As(err, &refused) && permanent(refused):
		return err
	}
	return fmt.Errorf("%w: %w", lost, err)
}

// permanent reports whether an error would recur in every further attempt.
func permanent(err rpctypes.EtcdError) bool {
	for _, is := range []error{rpctypes.ErrPermissionDenied, rpctypes.ErrAuthFailed, rpctypes.ErrUserEmpty, rpctypes.ErrAuthNotEnabled,
		rpctypes.ErrInvalidAuthToken, rpctypes.ErrTooManyOps, rpctypes.ErrDuplicateKey, rpctypes.ErrEmptyKey} {
		if errors.Is(err, is) {
			return true
		}
	}
	return false
}

// Read implements cluster.Coordinator.
func (c *Client) Read(ctx context.Context, q coord.Query) (found coord.Found, err error) {
	if q.Else != "" {
		return c.readElse(ctx, q)
	}
	options := []clientv3.OpOption{clientv3.WithRev(q.At), clientv3.WithLimit(int64(q.Most))}
	if q.Keys {
		options = append(options, clientv3.WithKeysOnly())
	}
	from := q.Key
	if q.Prefix {
		options = append(options, clientv3.WithRange(clientv3.GetPrefixRangeEnd(q.Key)))
		if q.After >= q.Key {
			from = q.After + "\x00"
		}
	}
	err = c.do(ctx, coord.ErrUnavailable, func(ctx context.Context) error {
		answer, err := c.calls.Get(ctx, from, options...)
		if err != nil {
			return err
		}
		found.At, found.More = answer.Header.Revision, answer.More
		if q.At != 0 {
			found.At = q.At
		}
		found.KVs = records(answer.Kvs)
		return nil
	})
	return found, err
}

// readElse reads one of two records in one request.
func (c *Client) readElse(ctx context.Context, q coord.Query) (found coord.Found, err error) {
	exists := clientv3.Compare(clientv3.CreateRevision(q.Key), "!=", 0)
	err = c.do(ctx, coord.ErrUnavailable, func(ctx context.Context) error {
		answer, err := c.calls.Txn(ctx).If(exists).Then(clientv3.OpGet(q.Key)).Else(clientv3.OpGet(q.Else)).Commit()
		if err != nil {
			return err
		}
		found.At, found.KVs = answer.Header.Revision, records(answer.Responses[0].GetResponseRange().GetKvs())
		return nil
	})
	return found, err
}

func records(kvs []*mvccpb.KeyValue) (all []coord.KV) {
	for _, kv := range kvs {
		all = append(all, coord.KV{Key: string(kv.Key), Value: kv.Value, Created: kv.CreateRevision, Changed: kv.ModRevision, Lease: coord.Lease(kv.Lease)})
	}
	return all
}

// Commit implements cluster.Coordinator.
func (c *Client) Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (done bool, at int64, err error) {
	if err := coord.Check(when, changes); err != nil {
		return false, 0, err
	}
	conditions := make([]clientv3.Cmp, len(when))
	for i, w := range when {
		conditions[i] = clientv3.Compare(clientv3.ModRevision(w.Key), "=", w.Revision)
		switch {
		case w.Created:
			conditions[i] = clientv3.Compare(clientv3.CreateRevision(w.Key), "=", w.Revision)
		case w.Below:
			conditions[i] = clientv3.Compare(clientv3.ModRevision(w.Key).WithPrefix(), "<", w.Revision+1)
		}
	}
	ops := make([]clientv3.Op, len(changes))
	for i, change := range changes {
		if change.Delete {
			ops[i] = clientv3.OpDelete(change.Key)
		} else {
			ops[i] = clientv3.OpPut(change.Key, string(change.Value), clientv3.WithLease(clientv3.LeaseID(change.Lease)))
		}
	}
	err = c.do(ctx, coord.ErrUnknown, func(ctx context.Context) error {
		answer, err := c.calls.Txn(ctx).If(conditions...).Then(ops...).Commit()
		if err == nil {
			done, at = answer.Succeeded, answer.Header.Revision
		}
		return err
	})
	return done, at, err
}

// Watch implements cluster.Coordinator.
func (c *Client) Watch(ctx context.Context, prefix string, after int64) <-chan coord.Batch {
	batches := make(chan coord.Batch)
	go func() {
		defer close(batches)
		ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
		defer cancel()
		for answer := range c.watches.Watch(ctx, prefix, clientv3.WithPrefix(), clientv3.WithRev(after+1), clientv3.WithProgressNotify()) {
			b := batch(&answer)
			if b.Err == nil && b.At == 0 { // the watch has been created
				continue
			}
			if !send(ctx, batches, b) {
				return
			}
		}
		send(ctx, batches, coord.Batch{Err: coord.ErrUnavailable}) // the client was closed
	}()
	return batches
}

// send sends a batch. It reports whether the watch should continue.
func send(ctx context.Context, batches chan<- coord.Batch, b coord.Batch) bool {
	if ctx.Err() != nil { // then the watch ended because its caller cancelled it
		return false
	}
	select {
	case batches <- b:
		return b.Err == nil
	case <-ctx.Done():
		return false
	}
}

// batch converts a response of a watch.
func batch(answer *clientv3.WatchResponse) (b coord.Batch) {
	if err := answer.Err(); err != nil {
		b.Err = translate(err, coord.ErrUnavailable)
		return b
	}
	if answer.IsProgressNotify() {
		b.At = answer.Header.Revision
	}
	for _, e := range answer.Events {
		kv := coord.KV{Key: string(e.Kv.Key), Changed: e.Kv.ModRevision}
		if e.Type != clientv3.EventTypeDelete {
			kv.Value, kv.Created, kv.Lease = e.Kv.Value, e.Kv.CreateRevision, coord.Lease(e.Kv.Lease)
		}
		b.Events = append(b.Events, coord.Event{KV: kv, Deleted: e.Type == clientv3.EventTypeDelete})
		b.At = max(b.At, kv.Changed) // while a watch catches up, the header's revision may be ahead of its events
	}
	return b
}

// Grant implements cluster.Coordinator.
func (c *Client) Grant(ctx context.Context, ttl time.Duration) (l coord.Lease, err error) {
	err = c.do(ctx, coord.ErrUnavailable, func(ctx context.Context) error {
		answer, err := c.calls.Grant(ctx, int64((ttl+time.Second-1)/time.Second))
		if err == nil {
			l = coord.Lease(answer.ID)
		}
		return err
	})
	return l, err
}

// Renew implements cluster.Coordinator. It does not use the keep-alive stream of the etcd library, because
// that stream ends during an outage.
func (c *Client) Renew(ctx context.Context, l coord.Lease) error {
	return c.do(ctx, coord.ErrUnavailable, func(ctx context.Context) error {
		_, err := c.calls.KeepAliveOnce(ctx, clientv3.LeaseID(l))
		return err
	})
}

// Revoke implements cluster.Coordinator.
func (c *Client) Revoke(ctx context.Context, l coord.Lease) error {
	err := c.do(ctx, coord.ErrUnavailable, func(ctx context.Context) error {
		_, err := c.calls.Revoke(ctx, clientv3.LeaseID(l))
		return err
	})
	if errors.Is(err, coord.ErrGone) {
		return nil
	}
	return err
}

// Compact implements cluster.Coordinator.
func (c *Client) Compact(ctx context.Context, revision int64) error {
	err := c.do(ctx, coord.ErrUnavailable, func(ctx context.Context) error {
		_, err := c.calls.Compact(ctx, revision)
		return err
	})
	if errors.Is(err, coord.ErrCompacted) {
		return nil
	}
	return err
}
