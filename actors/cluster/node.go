package cluster

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/coord"
)

// Options of a Node.
type Options struct {
	Coordinator Coordinator
	Peers       Peers
	Log         zerolog.Logger
	Cluster     string        // a valid name
	Self        coord.Node    // with a valid name; without Draining and Incarnation
	ClusterID   string        // of the cluster that the node's store belongs to; "": of none yet
	OldLease    coord.Lease   // of the former process, as Registered told it; 0: not known
	TTL         time.Duration // of the registration, in whole seconds; 0: 6 s
	ReapAfter   time.Duration // how long a node is silent until it is lost; 0: 15 s

	// Registered is told each new incarnation of this node and the lease that holds it. The records of the node's game sessions may have to
	// be written again. It must not block. This and the following functions may be nil.
	Registered func(incarnation int64, l coord.Lease)
	// Lead is called when a term of this node begins, and returns when ctx ends, or before, if the term turns out to be over. No term begins
	// before the one before has returned.
	Lead func(ctx context.Context, term int64)
	// Reap deletes what a lost node has left, on condition of the term and of the node's absence. It is called within a term, and again after
	// an error as long as the node is lost.
	Reap func(ctx context.Context, term int64, lost coord.Node) error
}

// Node is one process of a cluster. Its methods may be called from any goroutine.
type Node struct {
	o      Options
	keys   coord.Keys
	ctx    context.Context // ends with the node
	cancel context.CancelFunc
	work   sync.WaitGroup
	left   sync.Once
	view   atomic.Pointer[View]
	waits  atomic.Int32 // callers of Leader
	reach  atomic.Bool  // the coordinator answered the last request of the registration
	id     atomic.Pointer[string]
	kick   chan struct{} // the registration has something to do
	leads  *Replica

	mu       sync.Mutex
	roster   roster
	self     coord.Node // Incarnation: the last one, also while it is not registered
	present  bool       // it is registered, under the lease
	lease    coord.Lease
	anew     bool // the coordinator was restored
	load     *coord.Load
	resigned int64 // the last term that this node gave up

	reg registration // owned by the goroutine of the registration
}

// New returns a node that answers others; Start makes it one of the cluster.
func New(o Options) *Node {
	if o.Registered == nil {
		o.Registered = func(int64, coord.Lease) {}
	}
	if o.Lead == nil {
		o.Lead = func(ctx context.Context, _ int64) { <-ctx.Done() }
	}
	if o.Reap == nil {
		o.Reap = func(context.Context, int64, coord.Node) error { return nil }
	}
	o.TTL, o.ReapAfter = cmp.Or(o.TTL, 6*time.Second), cmp.Or(o.ReapAfter, 15*time.Second)
	n := &Node{o: o, keys: coord.KeysOf(o.Cluster), kick: make(chan struct{}, 1)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.self = o.Self
	n.roster = roster{reapAfter: o.ReapAfter, members: map[string]*known{}, loads: map[string]coord.Load{}}
	n.view.Store(&View{Self: n.self, replaced: make(chan struct{})})
	return n
}

// Start makes the node one of the cluster: it checks that it may be, registers, and knows the others when it returns. Otherwise the error
// says what to do. It waits a minute at most for the coordinator, and for a former process of the node as long as its lease lasts.
func (n *Node) Start(ctx context.Context) error {
	if err := n.join(ctx); err != nil {
		n.Close()
		return err
	}
	nodes := NewReplica(n.o.Coordinator, n.keys.Nodes(), n.onNodes)
	loads := NewReplica(n.o.Coordinator, n.keys.Loads(), func(c Changes) {
		n.change(func() { n.roster.applyLoads(n.keys, c.Events) })
	})
	n.leads = NewReplica(n.o.Coordinator, n.keys.Lead(), func(c Changes) {
		n.change(func() { n.roster.applyLead(n.keys, c.Events) })
	})
	incarnation := n.View().Self.Incarnation
	n.work.Go(func() { n.keep(n.ctx) })
	n.work.Go(func() { nodes.Run(n.ctx) })
	for _, r := range []*Replica{loads, n.leads} {
		n.work.Go(func() { r.Run(n.ctx) })
	}
	for r, at := range map[*Replica]int64{nodes: incarnation, loads: 1, n.leads: 1} {
		if err := r.WaitFor(ctx, at); err != nil {
			n.Close()
			return fmt.Errorf("cluster %s: node %s has not read what the others are: %w", n.o.Cluster, n.o.Self.Name, err)
		}
	}
	n.work.Go(func() { n.elect(n.ctx) })
	return nil
}

// Close ends the node: its term, its registration and its goroutines.
func (n *Node) Close() {
	n.cancel()
	n.work.Wait()
	n.left.Do(n.leave)
}

// View returns what the node knows of the cluster.
func (n *Node) View() *View { return n.view.Load() }

// ClusterID returns the id of the cluster, once Start has returned.
func (n *Node) ClusterID() string {
	if id := n.id.Load(); id != nil {
		return *id
	}
	return ""
}

// Do answers coord.Hello and coord.Reach, also before Start.
func (n *Node) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q := q.(type) {
	case coord.Hello:
		self := n.View().Self
		return coord.HelloAnswer{Node: self, Incarnation: self.Incarnation, Clock: time.Now(), Coordinator: n.reach.Load()}, nil
	case coord.Reach:
		q.Node.Incarnation = q.Incarnation
		return coord.Reached{Outcome: n.find(ctx, q.Node)}, nil
	}
	return nil, messages.Errorf(messages.InvalidRequest, "a node does not answer a %T", q)
}

// SetDraining says whether the node drains: it does not lead, and gets no new work.
func (n *Node) SetDraining(on bool) {
	n.change(func() { n.self.Draining = on })
	n.wake()
}

// SetLoad says what the load of the node is. It is written when that matters to others.
func (n *Node) SetLoad(l coord.Load) {
	n.mu.Lock()
	n.load = &l
	n.mu.Unlock()
	n.wake()
}

// Forget declares a node lost that is not registered, even if it answers, and waits until it is reaped. Only the leader does so.
func (n *Node) Forget(ctx context.Context, name string) error {
	for {
		v := n.View()
		m := v.Member(name)
		switch {
		case !v.Leads:
			return messages.Errorf(messages.InvalidRequest, "node %s does not lead: ask node %s", n.o.Self.Name, v.Leader)
		case m == nil:
			return messages.Errorf(messages.NotFound, "node %s is not known", name)
		case m.State == Live:
			return messages.Errorf(messages.InvalidRequest, "node %s is registered: stop it first", name)
		case m.State == Lost:
			return nil
		}
		n.mu.Lock()
		if k := n.roster.missing(m.Node); k != nil {
			k.forget = true
		}
		n.mu.Unlock()
		select {
		case <-v.Replaced():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change changes what the node knows, and publishes it.
func (n *Node) change(f func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f()
	self := n.self
	if !n.present {
		self.Incarnation = 0
	}
	v := n.roster.view(self, time.Now())
	v.Self, v.Draining = n.self, n.self.Draining
	v.Leads = v.Leads && !v.Draining && n.roster.term != n.resigned
	close(n.view.Swap(v).replaced)
}

// onNodes takes over changes of registrations. They may say that this node has lost its own.
func (n *Node) onNodes(c Changes) {
	n.change(func() {
		n.roster.applyNodes(n.keys, c, time.Now())
		n.anew = n.anew || c.Restored
		for _, e := range c.Events {
			if e.Key == n.keys.Node(n.self.Name) && n.present && (e.Deleted || e.Created != n.self.Incarnation) && e.Changed > n.self.Incarnation {
				n.present = false
			}
		}
	})
	n.wake()
}

// wake makes the registration look at what it has to do.
func (n *Node) wake() {
	select {
	case n.kick <- struct{}{}:
	default:
	}
}

// request makes one request to the coordinator.
func request[A any](ctx context.Context, f func(ctx context.Context) (A, error)) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return f(ctx)
}

// commit makes one attempt.
func (n *Node) commit(ctx context.Context, when []coord.Condition, changes ...coord.Change) (done bool, at int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return n.o.Coordinator.Commit(ctx, when, changes)
}

func (n *Node) read(ctx context.Context, q coord.Query) (coord.Found, error) {
	return request(ctx, func(ctx context.Context) (coord.Found, error) { return n.o.Coordinator.Read(ctx, q) })
}

// get reads one record, nil if there is none.
func (n *Node) get(ctx context.Context, key string) (*coord.KV, error) {
	found, err := n.read(ctx, coord.Query{Key: key})
	if err != nil || len(found.KVs) == 0 {
		return nil, err
	}
	return &found.KVs[0], nil
}
