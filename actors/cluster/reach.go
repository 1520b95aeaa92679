package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"troupe/messages/coord"
)

// reach is whether this node reaches the coordinator.
type reach struct {
	mu     sync.Mutex
	yes    bool      // the coordinator answered the last request of the registration
	last   time.Time // when the coordinator last answered
	failed time.Time // when yes was last false
	cut    atomic.Bool
}

func (r *reach) now() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.yes
}

// answered records that the coordinator has answered a request, though not necessarily the last one.
func (r *reach) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = time.Now()
}

// setReach records the result of the last request of the registration. A refusal is an answer.
func (n *Node) setReach(err error) {
	n.reach.mu.Lock()
	defer n.reach.mu.Unlock()
	n.reach.yes = !errors.Is(err, coord.ErrUnavailable) && !errors.Is(err, coord.ErrUnknown) && !errors.Is(err, context.Canceled)
	if n.reach.yes {
		n.reach.last = time.Now()
	} else {
		n.reach.failed = time.Now()
	}
}

// reaches reports whether the coordinator has answered all requests for the time of a lease. If it is slow for all nodes,
// none of them reaches it.
func (n *Node) reaches() bool {
	n.reach.mu.Lock()
	defer n.reach.mu.Unlock()
	return n.reach.yes && time.Since(n.reach.failed) > n.o.TTL
}

// CutOff reports whether this node has not reached the coordinator for the time of its lease, while another node reaches
// it. If no node does, no node is cut off: the coordinator is away.
func (n *Node) CutOff() bool { return n.reach.cut.Load() }

// compareReach asks other nodes whether they reach the coordinator, as long as this node does not.
func (n *Node) compareReach(ctx context.Context) {
	for Sleep(ctx, askEvery) {
		n.reach.mu.Lock()
		away := !n.reach.yes && time.Since(n.reach.last) > n.o.TTL
		n.reach.mu.Unlock()
		n.reach.cut.Store(away && n.othersReach(ctx))
	}
}

// othersReach asks up to greetsMax other nodes whether they reach the coordinator.
func (n *Node) othersReach(ctx context.Context) bool {
	var others []coord.Node
	for _, m := range n.View().Members {
		if m.Name != n.o.Self.Name && (m.State == Live || m.State == Adrift) {
			others = append(others, m.Node)
		}
	}
	rand.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
	var one atomic.Bool
	var all sync.WaitGroup
	for _, o := range others[:min(len(others), greetsMax)] {
		all.Go(func() {
			if answer, err := n.greet(ctx, o); err == nil && answer.Coordinator {
				one.Store(true)
			}
		})
	}
	all.Wait()
	return one.Load()
}

// noteOffset records the difference between this node's clock and another node's.
func (n *Node) noteOffset(apart time.Duration) {
	for {
		most := n.offset.Load()
		if apart.Abs() <= time.Duration(most).Abs() || n.offset.CompareAndSwap(most, int64(apart)) {
			return
		}
	}
}

// ClockOffset returns the largest difference between this node's clock and those of the nodes that it asked at the start.
func (n *Node) ClockOffset() time.Duration { return time.Duration(n.offset.Load()) }
