package host

import (
	"context"
	"sync"
	"time"

	"troupe/actors/cluster"
	"troupe/messages/coord"
	"troupe/transport/etcd/slow"
)

// duties does what only the leader does, besides deciding, until ctx ends.
func (n *clusterNode) duties(ctx context.Context, term int64) {
	var work sync.WaitGroup
	work.Go(func() { n.directory.Sweep(ctx, n.holds(term)) })
	if age := n.config.Etcd.Compact; age > 0 {
		work.Go(func() { cluster.KeepHistory(ctx, n.coordinator, n.keys, age) })
	}
	<-ctx.Done()
	work.Wait()
}

// checkEtcd returns an error if etcd is too old.
func (n *clusterNode) checkEtcd(ctx context.Context) error {
	if n.etcd == nil {
		return nil
	}
	return n.etcd.Check(ctx, n.log)
}

// commitLimit is the maximum 99th percentile of the times of small changes. A change is one write to the disks of a
// majority of the members (10 ms by etcd's advice), with the network.
const commitLimit = 25 * time.Millisecond

// measureEtcd logs a warning if etcd takes long for small changes.
func (n *clusterNode) measureEtcd() {
	key := n.keys.Probe(n.name)
	p99, err := slow.Measure(func() error { return n.change(coord.Put(key, make([]byte, 1000))) })
	if err == nil {
		slow.Warn(n.log, "a small change of etcd", p99, commitLimit)
	}
	_ = n.change(coord.Delete(key)) // the next process deletes what remains
}

func (n *clusterNode) change(c coord.Change) error {
	ctx, cancel := context.WithTimeout(n.ctx, time.Second)
	defer cancel()
	_, _, err := n.coordinator.Commit(ctx, nil, []coord.Change{c})
	return err
}
