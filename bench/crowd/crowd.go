package crowd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/cluster"
	"troupe/actors/store/shared"
	"troupe/bench/loadgen"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
)

const (
	clusterName = "crowd"
	keys        = coord.Keys("/troupe/" + clusterName + "/")
	claimers    = 64 // concurrent claims of Fill
	joiners     = 32 // concurrent starts of nodes
	sampleEvery = 5 * time.Millisecond
	gamesMax    = 1000 // room of a node without game sessions
)

// Options configure a Crowd. All fields are required.
type Options struct {
	Nodes int
	Games int // game sessions of all nodes together
	// Open returns a client of the coordinator for one node, and a function that closes it.
	Open func() (cluster.Coordinator, func() error, error)
}

// Crowd is many nodes. Its methods must be called from one goroutine.
type Crowd struct {
	o      Options
	nodes  []*node
	leader atomic.Pointer[shared.Store] // of the term under way; nil between two
	traffic
	made int64        // number of game sessions so far
	lost atomic.Int64 // game sessions that a node lost although it was not killed

	mu     sync.Mutex
	reaped map[string]time.Time // by the name of the node
}

// node is one node of the crowd.
type node struct {
	crowd       *Crowd
	name        string
	link        *link
	close       func() error
	self        *cluster.Node
	directory   *cluster.Directory
	incarnation atomic.Int64
	dead        atomic.Bool
	live        atomic.Int64
	games       []messages.GameSessionID // in the order of their claims; used by the goroutine of the Crowd
	rewriting   atomic.Int64             // calls of Directory.Registered under way
	work        sync.WaitGroup
	ctx         context.Context // ends with the node
	cancel      context.CancelFunc
}

// Start starts the nodes. It returns when each of them is registered and sees all others.
func Start(ctx context.Context, o Options) (*Crowd, error) {
	c := &Crowd{o: o, reaped: make(map[string]time.Time)}
	c.sent = make(map[string]time.Time)
	c.lag = loadgen.NewHistogram()
	for i := range o.Nodes {
		n, err := c.newNode(i)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		c.nodes = append(c.nodes, n)
	}
	err := parallel(ctx, len(c.nodes), joiners, func(ctx context.Context, i int) error { return c.nodes[i].start(ctx) })
	if err == nil {
		err = c.AwaitLive(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Crowd) newNode(i int) (*node, error) {
	client, closes, err := c.o.Open()
	if err != nil {
		return nil, err
	}
	n := &node{crowd: c, name: fmt.Sprintf("node-%03d", i), close: closes}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.link = newLink(client, &c.traffic)
	address := n.name + ":33480"
	n.directory = cluster.NewDirectory(cluster.DirectoryOptions{
		Coordinator: n.link, Keys: keys, Node: n.name, Peers: address, Incarnation: n.incarnation.Load, Count: new(counters.Set),
		Lost: func(messages.GameSessionID) {
			if !n.dead.Load() {
				c.lost.Add(1)
			}
		},
	})
	n.self = cluster.New(cluster.Options{
		Coordinator: n.link, Peers: caller{c}, Log: zerolog.Nop(), Cluster: clusterName,
		Self: coord.Node{
			Name: n.name, Peers: address, Locations: []string{location}, Version: "bench", Protocol: coord.Range{Low: 1, High: 1},
			Schema: coord.Range{Low: 1, High: 1}, Generation: 1,
		},
		Registered: n.registered, Lead: n.lead, Reap: n.reap,
	})
	return n, nil
}

func (n *node) start(ctx context.Context) error {
	if err := n.self.Start(ctx); err != nil {
		return err
	}
	n.work.Go(n.report)
	return nil
}

// registered writes the directory again, as a host does.
func (n *node) registered(incarnation int64, _ coord.Lease) {
	n.incarnation.Store(incarnation)
	n.rewriting.Add(1)
	n.work.Go(func() {
		defer n.rewriting.Add(-1)
		n.directory.Registered(n.ctx, incarnation)
	})
}

// lead opens the store of a term.
func (n *node) lead(ctx context.Context, term int64) {
	ctx, over := context.WithCancel(ctx)
	defer over()
	for ctx.Err() == nil {
		records, err := shared.Open(ctx, shared.Options{Coordinator: n.link, Prefix: string(keys), Term: coord.Incarnation(keys.Lead(), term), OnOver: over})
		if err != nil {
			_ = sleep(ctx, sampleEvery)
			continue
		}
		n.crowd.leader.Store(records)
		<-ctx.Done()
		n.crowd.leader.CompareAndSwap(records, nil)
		records.End()
	}
}

func (n *node) reap(ctx context.Context, term int64, lost coord.Node) error {
	err := n.directory.Reap(ctx, lost.Name, coord.Incarnation(keys.Lead(), term))
	if err == nil {
		n.crowd.mu.Lock()
		defer n.crowd.mu.Unlock()
		n.crowd.reaped[lost.Name] = time.Now()
	}
	return err
}

// report publishes the room of the node, as a host does.
func (n *node) report() {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		live := int(n.live.Load())
		n.self.SetLoad(coord.Load{Places: []coord.Place{{Fleet: fleet, Location: location, Room: max(0, gamesMax-live), Live: live}}, Players: 8 * live})
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			return
		}
	}
}

// stop ends a node: in order, or as a crash does if its link is cut.
func (n *node) stop() error {
	n.self.Close()
	n.cancel()
	n.directory.Close()
	n.work.Wait()
	return n.close()
}

// Close ends all nodes.
func (c *Crowd) Close() error {
	return parallel(context.Background(), len(c.nodes), len(c.nodes), func(_ context.Context, i int) error { return c.nodes[i].stop() })
}

// AwaitLive waits until each node that was not killed sees all others of them as live, and one of them leads.
func (c *Crowd) AwaitLive(ctx context.Context) error {
	for {
		if c.agreed() {
			return nil
		}
		if err := sleep(ctx, sampleEvery); err != nil {
			return err
		}
	}
}

// alive returns the nodes that were not killed.
func (c *Crowd) alive() (all []*node) {
	for _, n := range c.nodes {
		if !n.dead.Load() {
			all = append(all, n)
		}
	}
	return all
}

func (c *Crowd) agreed() bool {
	alive := c.alive()
	for _, n := range alive {
		v, live := n.self.View(), 0
		for _, m := range v.Members {
			if m.State == cluster.Live {
				live++
			}
		}
		if live != len(alive) || v.Leader == "" {
			return false
		}
	}
	return c.leader.Load() != nil
}

// Kill ends a number of nodes at once as SIGKILL does, but not the leader. It returns when their game sessions are
// reaped: after how long, and how many those were.
func (c *Crowd) Kill(ctx context.Context, count int) (took time.Duration, games int, err error) {
	leader := c.nodes[0].self.View().Leader
	begun := time.Now()
	var killed []*node
	for _, n := range c.nodes {
		if n.name != leader && len(killed) < count {
			n.dead.Store(true)
			n.link.cut()
			killed, games = append(killed, n), games+len(n.games)
			n.games = nil
		}
	}
	for {
		c.mu.Lock()
		last := time.Time{}
		reaped := 0
		for _, n := range killed {
			if at, there := c.reaped[n.name]; there {
				reaped++
				if at.After(last) {
					last = at
				}
			}
		}
		c.mu.Unlock()
		if reaped == len(killed) {
			return last.Sub(begun), games, nil
		}
		if err := sleep(ctx, sampleEvery); err != nil {
			return 0, games, fmt.Errorf("%d of %d lost nodes are reaped: %w", reaped, len(killed), err)
		}
	}
}

// Outage takes the coordinator away from all nodes for a time that must exceed that of their leases. It returns after
// how long, from the end of the outage, all nodes are live again, after how long they have written the directory again,
// and how many game sessions they have lost.
func (c *Crowd) Outage(ctx context.Context, away time.Duration) (live, rewritten time.Duration, lost int64, err error) {
	for _, n := range c.nodes {
		n.link.cut()
	}
	if err := sleep(ctx, away); err != nil {
		return 0, 0, 0, err
	}
	begun := time.Now()
	before := make(map[*node]int64)
	for _, n := range c.alive() {
		before[n] = n.incarnation.Load()
		n.link.heal()
	}
	for _, again := range []struct {
		is   func(n *node, before int64) bool
		took *time.Duration
	}{
		{func(n *node, before int64) bool { return n.incarnation.Load() != before }, nil},
		{nil, &live},
		{func(n *node, _ int64) bool { return n.rewriting.Load() == 0 }, &rewritten},
	} {
		for n, incarnation := range before {
			for again.is != nil && !again.is(n, incarnation) {
				if err := sleep(ctx, sampleEvery); err != nil {
					return live, rewritten, c.lost.Load(), fmt.Errorf("after the outage, %s: %w", n.name, err)
				}
			}
		}
		if again.is == nil {
			if err := c.AwaitLive(ctx); err != nil {
				return live, rewritten, c.lost.Load(), fmt.Errorf("after the outage: %w", err)
			}
		}
		if again.took != nil {
			*again.took = time.Since(begun)
		}
	}
	return live, rewritten, c.lost.Load(), nil
}

// caller implements cluster.Peers without sockets.
type caller struct{ crowd *Crowd }

// Call implements cluster.Peers.
func (p caller) Call(ctx context.Context, to coord.Node, q messages.Request) (any, error) {
	for _, n := range p.crowd.nodes {
		if n.name == to.Name && !n.dead.Load() && n.incarnation.Load() == to.Incarnation {
			return n.self.Do(ctx, q)
		}
	}
	return nil, coord.ErrRefused
}

// parallel calls f for 0 to n-1, for at most width of them at the same time. It returns the first error, after which it
// begins no more.
func parallel(ctx context.Context, n, width int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(width, n) {
		all.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := f(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
