package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/messages/coord"
)

const (
	startMax   = time.Minute      // maximum time that a start waits for the coordinator
	clockLog   = time.Second      // a larger difference between two clocks is logged
	clockMax   = 30 * time.Second // a node does not join if its clock differs from another node's by more than this
	greetsMax  = 16               // maximum number of nodes with which a start compares its clock
	nameEvery  = 250 * time.Millisecond
	leaseGrace = time.Second // maximum time between the expiry of a lease and its end at the coordinator
)

// join checks whether the node may join the cluster, and registers it.
func (n *Node) join(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startMax)
	defer cancel()
	if err := errors.Join(coord.CheckName("cluster", n.o.Cluster), coord.CheckName("node", n.o.Self.Name)); err != nil {
		return err
	}
	var others []coord.Node
	for _, check := range []func(context.Context) error{
		n.o.Check,
		n.checkMeta,
		func(ctx context.Context) (err error) {
			if others, err = n.others(ctx); err == nil {
				err = checkNodes(n.o.Self, others)
			}
			return err
		},
		n.takeName,
	} {
		if err := n.insist(ctx, check); err != nil {
			return fmt.Errorf("cluster %s: %w", n.o.Cluster, err)
		}
	}
	if err := n.compareClocks(ctx, others); err != nil {
		return fmt.Errorf("cluster %s: %w", n.o.Cluster, err)
	}
	for n.View().Self.Incarnation == 0 {
		if err := n.insist(ctx, n.register); err != nil {
			return fmt.Errorf("cluster %s: %w", n.o.Cluster, err)
		}
	}
	return nil
}

// insist calls f again as long as the coordinator does not answer.
func (n *Node) insist(ctx context.Context, f func(context.Context) error) error {
	var p pause
	for {
		err := f(ctx)
		if !errors.Is(err, coord.ErrUnavailable) && !errors.Is(err, coord.ErrUnknown) {
			return err
		}
		if p.rest(ctx); ctx.Err() != nil {
			return fmt.Errorf("the coordinator does not answer: check that it runs and cluster.etcd.endpoints: %w", err)
		}
	}
}

// meta is the Meta record of the cluster as this node last read it.
type meta struct {
	coord.Meta
	changed int64 // revision of its last change
}

// checkMeta reads the cluster's Meta record, or creates it. It returns an error if the record does not fit this node.
func (n *Node) checkMeta(ctx context.Context) error {
	key := n.keys.Meta()
	kv, err := n.get(ctx, key)
	if err != nil {
		return err
	}
	known := n.meta.Load()
	if kv == nil {
		mine := coord.Meta{ID: rand.Text(), Schema: n.o.Self.Schema.High}
		if known != nil { // the coordinator has lost its records
			mine = known.Meta
		}
		if _, _, err := n.commit(ctx, []coord.Condition{coord.Absent(key)}, coord.Put(key, coord.Encode(mine))); err != nil {
			return err
		}
		return n.checkMeta(ctx)
	}
	read, err := coord.Decode[coord.Meta](*kv)
	switch s := n.o.Self.Schema; {
	case err != nil:
		return err
	case known == nil && n.o.ClusterID != "" && n.o.ClusterID != read.ID:
		return fmt.Errorf("the store of node %s belongs to another cluster (%s, not %s): set store.path to a new file, or cluster.etcd.endpoints to the etcd of that cluster",
			n.o.Self.Name, n.o.ClusterID, read.ID)
	case !s.Overlaps(coord.Range{Low: read.Schema, High: read.Schema}):
		return fmt.Errorf("its records have schema %d, and this version (%s) knows %d to %d: start the version of Troupe that the other nodes run",
			read.Schema, n.o.Self.Version, s.Low, s.High)
	}
	n.meta.Store(&meta{read, kv.Changed})
	return nil
}

// others returns the registrations of all other nodes.
func (n *Node) others(ctx context.Context) ([]coord.Node, error) {
	found, err := n.read(ctx, coord.Query{Key: n.keys.Nodes(), Prefix: true})
	var all []coord.Node
	for _, kv := range found.KVs {
		if o, err := coord.DecodeNode(kv); err == nil && kv.Key != n.keys.Node(n.o.Self.Name) {
			all = append(all, o)
		}
	}
	return all, err
}

// checkNodes returns an error if this node's versions or configured resources do not fit those of the other nodes.
func checkNodes(self coord.Node, others []coord.Node) error {
	for _, o := range others {
		switch {
		case !self.Protocol.Overlaps(o.Protocol):
			return fmt.Errorf("node %s (version %s) speaks protocol %d to %d, this version (%s) %d to %d: upgrade one minor version at a time",
				o.Name, o.Version, o.Protocol.Low, o.Protocol.High, self.Version, self.Protocol.Low, self.Protocol.High)
		case !self.Schema.Overlaps(o.Schema):
			return fmt.Errorf("node %s (version %s) knows schema %d to %d, this version (%s) %d to %d: upgrade one minor version at a time",
				o.Name, o.Version, o.Schema.Low, o.Schema.High, self.Version, self.Schema.Low, self.Schema.High)
		case self.Generation < o.Generation:
			return fmt.Errorf("node %s has generation %d of the configured resources, this node %d: use the newer configuration file",
				o.Name, o.Generation, self.Generation)
		case self.Generation == o.Generation && self.Resources != o.Resources:
			return fmt.Errorf("node %s has other configured resources of the same generation %d: raise cluster.generation, or use its configuration file",
				o.Name, o.Generation)
		}
	}
	return nil
}

// compareClocks asks up to greetsMax other nodes for their time.
func (n *Node) compareClocks(ctx context.Context, others []coord.Node) error {
	shuffle(n.random(0), others)
	errs := make([]error, min(len(others), greetsMax))
	var all sync.WaitGroup
	for i := range errs {
		all.Go(func() {
			begin := time.Now()
			answer, outcome := n.greet(ctx, others[i])
			if outcome != coord.Answered || answer.Clock.IsZero() {
				return
			}
			half := time.Since(begin) / 2
			apart := begin.Add(half).Sub(answer.Clock)
			n.noteOffset(apart)
			switch {
			case apart.Abs()-half > clockMax:
				errs[i] = fmt.Errorf("the clock of this machine is %v from that of node %s: set the clocks (NTP)", apart.Round(time.Second), others[i].Name)
			case apart.Abs()-half > clockLog:
				n.o.Log.Warn().Str("node", others[i].Name).Dur("apart_ms", apart).Msg("clocks are apart")
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// takeName waits until no other process has this node's name.
func (n *Node) takeName(ctx context.Context) error {
	for begin := time.Now(); ; {
		kv, err := n.get(ctx, n.keys.Node(n.o.Self.Name))
		if err != nil || kv == nil {
			return err
		}
		old, err := coord.DecodeNode(*kv)
		old.Name = n.o.Self.Name
		switch {
		case err == nil && n.hello(ctx, old) == coord.Answered:
			return fmt.Errorf("node %s runs already at %s: stop it, or set cluster.node to another name", old.Name, old.Peers)
		case kv.Lease == n.o.OldLease && kv.Lease != 0:
			if _, err := request(ctx, func(ctx context.Context) (any, error) { return nil, n.o.Coordinator.Revoke(ctx, kv.Lease) }); err != nil {
				return err
			}
			continue
		case time.Since(begin) > n.o.TTL+leaseGrace:
			return fmt.Errorf("node %s is registered by a process at %s that does not answer: stop it, or set cluster.node to another name", old.Name, old.Peers)
		}
		if !Sleep(ctx, nameEvery) {
			return ctx.Err()
		}
	}
}
