package cluster

import (
	"context"
	"errors"
	"time"

	"troupe/messages/coord"
	"troupe/messages/counters"
)

// registration is the state of this node's records at the coordinator.
type registration struct {
	lease    coord.Lease
	renewed  time.Time // when the request that last renewed the lease began
	draining bool      // value in the written registration
	players  string    // the same
	load     *coord.Load
	loaded   time.Time     // when load was last written
	late     time.Duration // see lateFor
	refused  bool          // see Node.refused
}

// errTaken means that another process is registered under this node's name.
var errTaken = errors.New("another process of this node's name is registered: stop one of them")

// refused returns an error that keeps a running node from registering, and logs it once. It returns other errors as they
// are, and nil.
func (n *Node) refused(err error) error {
	again := err == nil || errors.Is(err, coord.ErrUnavailable) || errors.Is(err, coord.ErrUnknown)
	if !again && !n.reg.refused && n.View().Self.Incarnation != 0 {
		n.reg.refused = true
		n.o.Log.Error().Err(err).Str("node", n.o.Self.Name).Msg("this node is not registered any longer, and gets no new work")
	}
	return err
}

// keep keeps the node registered until ctx ends.
func (n *Node) keep(ctx context.Context) {
	var p pause
	for ctx.Err() == nil {
		wait, err := n.step(ctx)
		n.setReach(err)
		if err != nil {
			p.rest(ctx)
			continue
		}
		if p = 0; wait == 0 {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-n.kick:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// step does the work that is due. It returns how long it takes until more work is due.
func (n *Node) step(ctx context.Context) (wait time.Duration, err error) {
	n.mu.Lock()
	anew, present, self, load := n.anew, n.present, n.self, n.load
	n.mu.Unlock()
	if anew { // the coordinator was restored: other nodes may have lost their knowledge of this incarnation
		if _, err := request(ctx, func(ctx context.Context) (any, error) { return nil, n.o.Coordinator.Revoke(ctx, n.reg.lease) }); err != nil {
			return 0, err
		}
		n.reg.lease, present = 0, false
		n.leased.Store(nil)
		n.change(func() { n.anew, n.present = false, false })
	}
	if err := n.renew(ctx); err != nil {
		return 0, err
	}
	if !present || n.reg.lease == 0 {
		if err := n.register(ctx); err != nil {
			return 0, err
		}
		return 0, nil
	}
	here := []coord.Condition{coord.Incarnation(n.keys.Node(self.Name), self.Incarnation)}
	wait = max(0, n.o.TTL/3-time.Since(n.reg.renewed))
	if self.Draining != n.reg.draining || self.Players != n.reg.players {
		done, _, err := n.commit(ctx, here, n.registered(self))
		if err != nil || !done {
			return 0, n.absent(err)
		}
		n.reg.draining, n.reg.players = self.Draining, self.Players
	}
	switch until, due := nextLoad(n.reg.load, load, time.Since(n.reg.loaded), n.reg.late); {
	case !due:
	case until > 0:
		wait = min(wait, until)
	default:
		n.lag.written()
		done, _, err := n.commit(ctx, here, coord.Change{Key: n.keys.Load(self.Name), Value: coord.Encode(load), Lease: n.reg.lease})
		if err != nil || !done {
			return 0, n.absent(err)
		}
		n.reg.load, n.reg.loaded = load, time.Now()
	}
	return wait, nil
}

// absent records that a commit was refused because the node is no longer registered.
func (n *Node) absent(err error) error {
	if err != nil && !errors.Is(err, coord.ErrGone) {
		return err
	}
	if err != nil {
		n.reg.lease = 0
		n.leased.Store(nil)
	} else {
		n.o.Count.Fenced.Add(counters.FenceIncarnation, 1)
	}
	n.change(func() { n.present = false })
	return nil
}

// registered returns the change that writes the registration.
func (n *Node) registered(self coord.Node) coord.Change {
	return coord.Change{Key: n.keys.Node(self.Name), Value: coord.Encode(self), Lease: n.reg.lease}
}

// renew renews the lease if that is due. If the lease has expired, renew clears it, and step calls register.
func (n *Node) renew(ctx context.Context) error {
	begin := time.Now()
	if n.reg.lease == 0 || begin.Sub(n.reg.renewed) < n.o.TTL/3 {
		return nil
	}
	_, err := request(ctx, func(ctx context.Context) (any, error) { return nil, n.o.Coordinator.Renew(ctx, n.reg.lease) })
	if errors.Is(err, coord.ErrGone) {
		return n.absent(err)
	}
	if err == nil {
		n.leasedFrom(begin)
	}
	return err
}

// leasedFrom records that the lease was granted or renewed by a request that began at the given time.
func (n *Node) leasedFrom(begin time.Time) {
	n.reg.renewed = begin
	until := begin.Add(n.o.TTL)
	n.leased.Store(&until)
	n.reach.answered() // even if the coordinator is too slow to commit anything
}

// Leased reports whether the lease cannot have expired yet. A leader that is not Leased may have a successor of which it
// does not know.
func (n *Node) Leased() bool {
	until := n.leased.Load()
	return until != nil && time.Now().Before(*until)
}

// register makes one attempt to register under a lease.
func (n *Node) register(ctx context.Context) error {
	if n.reg.lease == 0 {
		begin := time.Now()
		l, err := request(ctx, func(ctx context.Context) (coord.Lease, error) { return n.o.Coordinator.Grant(ctx, n.o.TTL) })
		if err != nil {
			return err
		}
		n.reg.lease = l
		n.leasedFrom(begin)
	}
	n.mu.Lock()
	self := n.self
	n.mu.Unlock()
	key := n.keys.Node(self.Name)
	fits := coord.Unchanged(n.keys.Meta(), n.meta.Load().changed)
	done, at, err := n.commit(ctx, []coord.Condition{coord.Absent(key), fits}, n.registered(self))
	if errors.Is(err, coord.ErrGone) {
		n.reg.lease = 0
		return nil
	}
	if err != nil {
		return err
	}
	if !done {
		kv, err := n.get(ctx, key)
		switch {
		case err != nil:
			return err
		case kv == nil: // the registration may have ended since, or the Meta record has changed
			return n.refused(n.checkMeta(ctx))
		case kv.Lease != n.reg.lease:
			return n.refused(errTaken)
		}
		written, err := coord.DecodeNode(*kv) // an earlier attempt, whose answer was lost, may have written it
		if err != nil {
			return err
		}
		self.Draining, self.Players, at = written.Draining, written.Players, kv.Created
	}
	n.reg.draining, n.reg.players, n.reg.load, n.reg.refused = self.Draining, self.Players, nil, false
	n.change(func() { n.self.Incarnation, n.lease, n.present = at, n.reg.lease, true })
	n.o.Registered(at, n.reg.lease)
	n.o.Log.Info().Str("node", self.Name).Int64("incarnation", at).Msg("node registered")
	return nil
}

// leave ends the registration. If the coordinator does not answer, the lease expires by itself.
func (n *Node) leave() {
	if n.reg.lease == 0 {
		return
	}
	_, _ = request(context.Background(), func(ctx context.Context) (any, error) { return nil, n.o.Coordinator.Revoke(ctx, n.reg.lease) })
}
