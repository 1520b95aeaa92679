package cluster

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
)

// Options of a Node.
type Options struct {
	Coordinator Coordinator
	Peers       Peers
	Log         zerolog.Logger
	Count       *counters.Set // nil: nothing is counted
	Cluster     string        // name of the cluster; must be valid
	Self        coord.Node    // registration of this node, with a valid name; Players, Draining and Incarnation are not set
	ClusterID   string        // id of the cluster to which the node's store belongs; "" if it belongs to no cluster yet
	OldLease    coord.Lease   // lease of the node's former process, as passed to Registered; 0 if unknown
	TTL         time.Duration // of the registration, in whole seconds; default 6 s
	ReapAfter   time.Duration // how long a node must be silent before it is declared lost; default 15 s
	Seed        uint64        // of the node's random choices; 0: a random one

	// Check is called at the start. It returns an error if the coordinator cannot be used; the start repeats it while the
	// error is coord.ErrUnavailable. Check and the following functions may be nil.
	Check func(ctx context.Context) error
	// Registered is called for each new incarnation of this node, with its lease. The records of the node's game
	// sessions may have to be written again. Registered must not block.
	Registered func(incarnation int64, l coord.Lease)
	// Lead is called when a term of this node begins. It returns when ctx ends, or earlier if it finds that the term is
	// over. The next term does not begin before Lead has returned.
	Lead func(ctx context.Context, term int64)
	// Reap deletes the records of a lost node, on condition of the term and of the node's absence. It is called within a
	// term. After an error it is called again as long as the node is lost.
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
	waits  atomic.Int32 // number of calls of Leader that wait
	reach  reach
	paths  paths
	leased atomic.Pointer[time.Time] // end of the time for which the lease is certain
	offset atomic.Int64              // see ClockOffset
	meta   atomic.Pointer[meta]      // nil until Start has read the record
	kick   chan struct{}             // wakes the goroutine of the registration
	leads  *Replica
	lag    lag

	mu       sync.Mutex
	roster   roster
	self     coord.Node // Incarnation is the last one, even while the node is not registered
	present  bool       // the node is registered, under lease
	lease    coord.Lease
	anew     bool // the coordinator was restored
	load     *coord.Load
	resigned int64 // the last term from which this node resigned

	reg registration // used only by the goroutine of the registration
}

// New returns a node that answers other nodes. Start makes it join the cluster.
func New(o Options) *Node {
	o.Count = cmp.Or(o.Count, new(counters.Set))
	if o.Registered == nil {
		o.Registered = func(int64, coord.Lease) {}
	}
	if o.Check == nil {
		o.Check = func(context.Context) error { return nil }
	}
	if o.Lead == nil {
		o.Lead = func(ctx context.Context, _ int64) { <-ctx.Done() }
	}
	if o.Reap == nil {
		o.Reap = func(context.Context, int64, coord.Node) error { return nil }
	}
	o.Seed, o.TTL, o.ReapAfter = cmp.Or(o.Seed, rand.Uint64()), cmp.Or(o.TTL, 6*time.Second), cmp.Or(o.ReapAfter, 15*time.Second)
	n := &Node{o: o, paths: paths{broken: map[string]bool{}}, keys: coord.KeysOf(o.Cluster), kick: make(chan struct{}, 1)}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.self, n.reg.late = o.Self, lateFor(n.random(1))
	n.roster = roster{reapAfter: o.ReapAfter, members: map[string]*known{}, loads: map[string]coord.Load{}}
	n.view.Store(&View{Self: n.self, replaced: make(chan struct{})})
	return n
}

// Start makes the node join the cluster. It checks whether the node may join, registers it, and returns when the node
// knows the other nodes. An error says what the operator should do. Start waits up to a minute for the coordinator, and
// until the lease of a former process of the node has ended.
func (n *Node) Start(ctx context.Context) error {
	if err := n.join(ctx); err != nil {
		n.Close()
		return err
	}
	nodes := NewReplica(n.o.Coordinator, n.keys.Nodes(), n.onNodes)
	loads := NewReplica(n.o.Coordinator, n.keys.Loads(), func(c Changes) {
		n.change(func() { n.roster.applyLoads(n.keys, c.Events) })
		n.lag.seen(n.keys.Load(n.o.Self.Name), c.Events)
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
	n.work.Go(func() { n.compareReach(n.ctx) })
	return nil
}

// Close ends the node: its term, its registration and its goroutines.
func (n *Node) Close() {
	n.paths.mu.Lock() // no further work begins (see doubt)
	n.cancel()
	n.paths.mu.Unlock()
	n.work.Wait()
	n.left.Do(n.leave)
}

// View returns the node's current view of the cluster.
func (n *Node) View() *View { return n.view.Load() }

// ClusterID returns the id of the cluster, once Start has returned.
func (n *Node) ClusterID() string {
	if m := n.meta.Load(); m != nil {
		return m.ID
	}
	return ""
}

// Do answers coord.Hello, coord.Reach and coord.Detour, also before Start.
func (n *Node) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q := q.(type) {
	case coord.Hello:
		self := n.View().Self
		return coord.HelloAnswer{Node: self, Incarnation: self.Incarnation, Clock: time.Now(), Coordinator: n.reaches()}, nil
	case coord.Reach:
		q.Node.Incarnation = q.Incarnation
		return coord.Reached{Outcome: n.find(ctx, q.Node)}, nil
	case coord.Detour:
		return n.pass(ctx, q)
	}
	return nil, messages.Errorf(messages.InvalidRequest, "a node does not answer a %T", q)
}

// SetDraining sets whether the node drains. A draining node does not lead and gets no new work.
func (n *Node) SetDraining(on bool) {
	n.change(func() { n.self.Draining = on })
	n.wake()
}

// SetPlayers sets the addresses at which the node accepts players (see coord.Node).
func (n *Node) SetPlayers(addresses string) {
	n.change(func() { n.self.Players = addresses })
	n.wake()
}

// SetLoad sets the load of the node. The node writes it to the coordinator when the difference matters to other nodes.
func (n *Node) SetLoad(l coord.Load) {
	n.mu.Lock()
	n.load = &l
	n.mu.Unlock()
	n.wake()
}

// Forget declares a node lost that is not registered, even if that node answers, and waits until it is reaped. Only the
// leader may do so.
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

// change calls f to change the node's state, and publishes a new view.
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

// onNodes applies changes of registrations. They may show that this node has lost its own registration. After a restore,
// the revision of the registration may have been used again.
func (n *Node) onNodes(c Changes) {
	n.change(func() {
		n.roster.applyNodes(n.keys, c, time.Now())
		n.anew = n.anew || c.Restored
		for _, e := range c.Events {
			if e.Key == n.keys.Node(n.self.Name) && n.present && (e.Deleted || e.Created != n.self.Incarnation) && e.Changed >= n.self.Incarnation {
				n.present = false
			}
		}
	})
	n.wake()
}

// random returns the source of the random choices for one purpose. One goroutine at a time may use it.
func (n *Node) random(purpose uint64) *rand.Rand { return rand.New(rand.NewPCG(n.o.Seed, purpose)) }

func shuffle(random *rand.Rand, all []coord.Node) {
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
}

// wake wakes the goroutine of the registration, so that it checks for due work.
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

// commit makes one attempt to commit.
func (n *Node) commit(ctx context.Context, when []coord.Condition, changes ...coord.Change) (done bool, at int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return n.o.Coordinator.Commit(ctx, when, changes)
}

func (n *Node) read(ctx context.Context, q coord.Query) (coord.Found, error) {
	return request(ctx, func(ctx context.Context) (coord.Found, error) { return n.o.Coordinator.Read(ctx, q) })
}

// get reads a record. It returns nil if the record does not exist.
func (n *Node) get(ctx context.Context, key string) (*coord.KV, error) {
	found, err := n.read(ctx, coord.Query{Key: key})
	if err != nil || len(found.KVs) == 0 {
		return nil, err
	}
	return &found.KVs[0], nil
}
