package host

import (
	"context"
	"sync"

	"troupe/actors/cluster"
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
