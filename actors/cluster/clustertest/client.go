package clustertest

import (
	"context"
	"sync"
	"time"

	"troupe/actors/cluster"
	"troupe/messages/coord"
)

// attempt is the timeout of a request.
const attempt = time.Second

// Client connects one host to a Store, and injects faults of its own. Its methods may be called from any goroutine.
type Client struct {
	store  *Store
	mu     sync.Mutex
	faults Faults
	healed chan struct{} // closed when the faults change
}

var _ cluster.Coordinator = (*Client)(nil)

// Faults are the faults of a connection to a Store.
type Faults struct {
	Delay    time.Duration // delay of each request and of each answer
	Late     time.Duration // requests arrive after this delay, and their answers are lost
	Requests bool          // requests are lost
	Answers  bool          // answers and batches are lost
	Break    bool          // watches end with ErrUnavailable
}

// Client returns a client without faults.
func (s *Store) Client() *Client { return &Client{store: s, healed: make(chan struct{})} }

// SetFaults replaces the faults.
func (c *Client) SetFaults(f Faults) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.faults = f
	close(c.healed)
	c.healed = make(chan struct{})
}

// now returns the current faults, and two channels. One of the channels is closed when the faults change.
func (c *Client) now() (f Faults, healed, back <-chan struct{}) {
	away, back := c.store.isAway()
	c.mu.Lock()
	defer c.mu.Unlock()
	f = c.faults
	f.Requests, f.Answers = f.Requests || away, f.Answers || away
	return f, c.healed, back
}

// do makes a request. If there is no answer, it returns the error in lost.
func do[A any](ctx context.Context, c *Client, lost error, f func() (A, error)) (none A, _ error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	faults, _, _ := c.now()
	if faults.Late > 0 {
		time.AfterFunc(faults.Late, func() {
			if away, _ := c.store.isAway(); !away {
				_, _ = f()
			}
		})
	}
	if faults.Late > 0 || faults.Requests || !sleep(ctx, faults.Delay) {
		<-ctx.Done()
		return none, lost
	}
	if away, _ := c.store.isAway(); away {
		<-ctx.Done()
		return none, lost
	}
	answer, err := f()
	if faults, _, _ = c.now(); faults.Answers || !sleep(ctx, faults.Delay) {
		<-ctx.Done()
		return none, lost
	}
	return answer, err
}

func sleep(ctx context.Context, d time.Duration) bool {
	if ctx.Err() != nil || d == 0 {
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

// Read implements cluster.Coordinator.
func (c *Client) Read(ctx context.Context, q coord.Query) (coord.Found, error) {
	return do(ctx, c, coord.ErrUnavailable, func() (coord.Found, error) { return c.store.read(q) })
}

// Commit implements cluster.Coordinator.
func (c *Client) Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (done bool, at int64, err error) {
	if err := coord.Check(when, changes); err != nil {
		return false, 0, err
	}
	type answer struct {
		done bool
		at   int64
	}
	a, err := do(ctx, c, coord.ErrUnknown, func() (a answer, err error) {
		a.done, a.at, err = c.store.commit(when, changes)
		return a, err
	})
	return a.done, a.at, err
}

// Grant implements cluster.Coordinator.
func (c *Client) Grant(ctx context.Context, ttl time.Duration) (coord.Lease, error) {
	return do(ctx, c, coord.ErrUnavailable, func() (coord.Lease, error) { return c.store.grant(ttl), nil })
}

// Renew implements cluster.Coordinator.
func (c *Client) Renew(ctx context.Context, l coord.Lease) error {
	return c.run(ctx, func() error { return c.store.renew(l) })
}

// Revoke implements cluster.Coordinator.
func (c *Client) Revoke(ctx context.Context, l coord.Lease) error {
	return c.run(ctx, func() error {
		c.store.revoke(l)
		return nil
	})
}

// Compact implements cluster.Coordinator.
func (c *Client) Compact(ctx context.Context, revision int64) error {
	return c.run(ctx, func() error {
		c.store.compact(revision)
		return nil
	})
}

func (c *Client) run(ctx context.Context, f func() error) error {
	_, err := do(ctx, c, coord.ErrUnavailable, func() (struct{}, error) { return struct{}{}, f() })
	return err
}

// Watch implements cluster.Coordinator.
func (c *Client) Watch(ctx context.Context, prefix string, after int64) <-chan coord.Batch {
	batches := make(chan coord.Batch)
	go func() {
		defer close(batches)
		send := func(b coord.Batch) bool {
			select {
			case batches <- b:
				return b.Err == nil
			case <-ctx.Done():
				return false
			}
		}
		for {
			faults, healed, wake := c.now()
			if faults.Break {
				send(coord.Batch{Err: coord.ErrUnavailable})
				return
			}
			if !faults.Requests && !faults.Answers {
				events, at, changed, err := c.store.since(prefix, after)
				if err != nil {
					send(coord.Batch{Err: err})
					return
				}
				if len(events) > 0 && (!sleep(ctx, faults.Delay) || !send(coord.Batch{Events: events, At: at})) {
					return
				}
				after, wake = max(after, at), changed
			}
			select {
			case <-wake:
			case <-healed:
			case <-ctx.Done():
				return
			}
		}
	}()
	return batches
}
