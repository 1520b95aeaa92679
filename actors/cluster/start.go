package cluster

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
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
	trustEvery = 250 * time.Millisecond
	trustMax   = time.Second // how long a start repeats a handshake that fails; the other process may be ending
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
		if err := n.Insist(ctx, check); err != nil {
			return fmt.Errorf("cluster %s: %w", n.o.Cluster, err)
		}
	}
	if err := n.meet(ctx, others); err != nil {
		return fmt.Errorf("cluster %s: %w", n.o.Cluster, err)
	}
	for n.View().Self.Incarnation == 0 {
		if err := n.Insist(ctx, n.register); err != nil {
			return fmt.Errorf("cluster %s: %w", n.o.Cluster, err)
		}
	}
	return nil
}

// Insist calls f again as long as the coordinator does not answer, until ctx ends. Then the error says what the operator
// should do. Other errors are f's.
func (n *Node) Insist(ctx context.Context, f func(context.Context) error) error {
	var p pause
	var why error
	for {
		err := f(ctx)
		if !errors.Is(err, coord.ErrUnavailable) && !errors.Is(err, coord.ErrUnknown) {
			return err
		}
		if why == nil {
			n.o.Log.Warn().Err(err).Msg("etcd does not answer yet")
		}
		if why == nil || ctx.Err() == nil { // the last attempt has had no time
			why = err
		}
		if p.rest(ctx); ctx.Err() != nil {
			return fmt.Errorf("etcd does not answer: start it, or correct cluster.etcd.endpoints: %w", why)
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
	if kv == nil {
		known := n.meta.Load()
		if known == nil && n.o.ClusterID != "" { // nothing is written: other nodes, or a backup, have the record
			return fmt.Errorf("etcd has no records of the cluster to which the store of node %s belongs (%s): correct cluster.name or cluster.etcd.endpoints, restore a snapshot of etcd, or set store.path to a new file",
				n.o.Self.Name, n.o.ClusterID)
		}
		record := coord.Meta{ID: rand.Text(), Schema: n.o.Self.Schema.High}
		if known != nil { // the coordinator has lost its records
			record = known.Meta
		}
		if _, _, err := n.commit(ctx, []coord.Condition{coord.Absent(key)}, coord.Put(key, coord.Encode(record))); err != nil {
			return err
		}
		return n.checkMeta(ctx)
	}
	read, err := coord.Decode[coord.Meta](*kv)
	mine := cmp.Or(n.ClusterID(), n.o.ClusterID)
	switch s := n.o.Self.Schema; {
	case err != nil:
		return err
	case mine != "" && mine != read.ID:
		return fmt.Errorf("the store of node %s belongs to another cluster (%s, not %s): set store.path to a new file, or cluster.etcd.endpoints to the etcd of that cluster",
			n.o.Self.Name, mine, read.ID)
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
			return fmt.Errorf("node %s has the same generation %d of the configured resources, but other %s: raise cluster.generation, or use its configuration file",
				o.Name, o.Generation, coord.FirstDifference(self.Resources, o.Resources))
		}
	}
	return nil
}

// meet asks up to greetsMax other nodes for their time. It returns an error if the clocks are too far apart, or if no node
// answers and one does not accept this node's certificate.
func (n *Node) meet(ctx context.Context, others []coord.Node) error {
	shuffle(n.random(0), others)
	others = others[:min(len(others), greetsMax)]
	errs := make([]error, len(others))
	var all sync.WaitGroup
	for i, o := range others {
		all.Go(func() { errs[i] = n.compareClocks(ctx, o) })
	}
	all.Wait()
	for _, err := range errs {
		if errors.Is(err, errClocks) {
			return err
		}
	}
	isUntrusted := func(err error) bool { return errors.Is(err, coord.ErrUntrusted) }
	if i := slices.IndexFunc(errs, isUntrusted); i >= 0 && !slices.Contains(errs, nil) {
		return fmt.Errorf("%w: set cluster.peers.ca, cert and key to files that troupe admin cluster cert has made for this cluster", errs[i])
	}
	return nil
}

// errClocks means that two clocks differ by more than clockMax.
var errClocks = errors.New("set both clocks by NTP")

// compareClocks asks a node for its time. It returns an error if the node does not answer, or errClocks.
func (n *Node) compareClocks(ctx context.Context, o coord.Node) error {
	for first := time.Now(); ; {
		begin := time.Now()
		answer, err := n.greet(ctx, o)
		if errors.Is(err, coord.ErrUntrusted) && time.Since(first) < trustMax && Sleep(ctx, trustEvery) {
			continue
		}
		if err != nil || answer.Clock.IsZero() {
			return err
		}
		half := time.Since(begin) / 2
		apart := begin.Add(half).Sub(answer.Clock)
		n.noteOffset(apart)
		switch {
		case apart > clockMax+half:
			return fmt.Errorf("the clock of this machine is %v ahead of that of node %s: %w", apart.Round(time.Second), o.Name, errClocks)
		case -apart > clockMax+half:
			return fmt.Errorf("the clock of this machine is %v behind that of node %s: %w", -apart.Round(time.Second), o.Name, errClocks)
		case apart.Abs()-half > clockLog:
			n.o.Log.Warn().Str("node", o.Name).Dur("apart_ms", apart).Msg("clocks are apart")
		}
		return nil
	}
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
