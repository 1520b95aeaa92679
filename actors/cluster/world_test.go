package cluster_test

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/cluster"
	"troupe/actors/cluster/clustertest"
	"troupe/messages"
	"troupe/messages/coord"
)

const keys = coord.Keys("/troupe/test/")

// world is a cluster in virtual time.
type world struct {
	*testing.T
	store *clustertest.Store
	net   *clustertest.Net
	admin *clustertest.Client
	hosts []*host
	work  sync.WaitGroup // work that must end before the test does
	apart bool           // requests that begin at the same instant are kept apart

	mu     sync.Mutex
	reaped []reaping
}

// reaping records that a node was reaped.
type reaping struct {
	by, lost string
	at       time.Time
}

// host is a process of a node.
type host struct {
	w          *world
	name       string
	options    cluster.Options
	client     *clustertest.Client
	gate       *gate
	process    *clustertest.Process
	node       *cluster.Node
	dead       bool
	frozen     bool
	lease      func(coord.Lease)                             // called for each lease; may be nil
	registered func(incarnation int64)                       // called for each incarnation; may be nil
	wrap       func(cluster.Coordinator) cluster.Coordinator // may be nil
	distrusted string                                        // the names of the nodes that do not accept its certificate
}

func newWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	inBubble(t, func(t *testing.T, s *clustertest.Store) {
		w := &world{T: t, store: s, net: clustertest.NewNet(1), admin: s.Client()}
		defer w.net.Close()
		defer w.work.Wait()
		defer func() {
			for _, h := range w.hosts {
				h.freeze(false)
				h.node.Close()
			}
		}()
		f(w)
	})
}

// add creates a host without starting it.
func (w *world) add(name string) *host {
	h := &host{w: w, name: name}
	h.options = cluster.Options{Cluster: "test", Log: zerolog.Nop(), Self: coord.Node{
		Name: name, Peers: name + ":1", Version: "1.0.0", Protocol: coord.Range{Low: 1, High: 1}, Schema: coord.Range{Low: 1, High: 1},
	}}
	h.renew()
	w.hosts = append(w.hosts, h)
	return h
}

// renew creates a new process of the host.
func (h *host) renew() {
	h.client, h.gate, h.dead = h.w.store.Client(), &gate{apart: h.w.apart}, false
	o := h.options
	o.Coordinator, o.Peers = h.gated(), &gatedPeers{h.w.net.Peers(h.name), h.gate}
	if h.distrusted != "" {
		o.Peers = &distrusted{o.Peers, h.distrusted}
	}
	if h.wrap != nil {
		o.Coordinator = h.wrap(o.Coordinator)
	}
	o.Registered = func(incarnation int64, l coord.Lease) {
		h.process.SetIncarnation(incarnation)
		if h.lease != nil {
			h.lease(l)
		}
		if h.registered != nil {
			h.registered(incarnation)
		}
	}
	if o.Reap == nil {
		o.Reap = h.reap
	}
	h.node = cluster.New(o)
	h.process = h.w.net.Start(o.Self, h.node)
}

// reap stands in for the Directory: it deletes a game session of a lost node.
func (h *host) reap(ctx context.Context, term int64, lost coord.Node) error {
	done, _, err := h.client.Commit(ctx, []coord.Condition{coord.Incarnation(keys.Lead(), term), coord.Absent(keys.Node(lost.Name))},
		[]coord.Change{coord.Delete(keys.HostGame(lost.Name, "tag"))})
	if err == nil && !done {
		err = fmt.Errorf("another leads, or node %s is registered", lost.Name)
	}
	if err == nil {
		h.w.mu.Lock()
		defer h.w.mu.Unlock()
		h.w.reaped = append(h.w.reaped, reaping{h.name, lost.Name, time.Now()})
	}
	return err
}

// gated returns the process's client of the coordinator, behind the gate.
func (h *host) gated() cluster.Coordinator { return &gatedCoordinator{h.client, h.gate} }

func (h *host) start() {
	h.w.Helper()
	if err := h.node.Start(h.w.Context()); err != nil {
		h.w.Fatalf("%s: %v", h.name, err)
	}
}

// kill ends the process as SIGKILL does.
func (h *host) kill() {
	h.dead = true
	h.process.Stop()
	h.client.SetFaults(clustertest.Faults{Requests: true, Answers: true})
	h.freeze(false)
	node := h.node
	h.w.work.Go(node.Close)
}

// freeze stops the process as SIGSTOP does, or continues it.
func (h *host) freeze(on bool) {
	h.gate.set(on)
	h.process.Freeze(on)
}

// three starts nodes a, b and c. Node a leads.
func (w *world) three() (a, b, c *host) {
	w.Helper()
	a, b, c = w.add("a"), w.add("b"), w.add("c")
	a.start()
	time.Sleep(time.Second)
	b.start()
	c.start()
	time.Sleep(1500 * time.Millisecond)
	w.see(b, "a live, b live, c live; a leads")
	return a, b, c
}

// see fails unless the node's view matches want.
func (w *world) see(h *host, want string) {
	w.Helper()
	synctest.Wait()
	if got := seen(h.node.View()); got != want {
		w.Errorf("%s sees: %s\nwant: %s", h.name, got, want)
	}
}

func seen(v *cluster.View) string {
	var all []string
	for _, m := range v.Members {
		all = append(all, m.Name+" "+m.State.String())
	}
	leader := v.Leader
	if leader == "" {
		leader = "nobody"
	}
	return strings.Join(all, ", ") + "; " + leader + " leads"
}

// until waits for a view that satisfies ok, and returns how long that took.
func (w *world) until(h *host, what string, ok func(v *cluster.View) bool) time.Duration {
	w.Helper()
	begin := time.Now()
	limit := time.After(15 * time.Minute)
	for {
		v := h.node.View()
		if ok(v) {
			return time.Since(begin)
		}
		select {
		case <-v.Replaced():
		case <-limit:
			w.Fatalf("%s never sees %s, but %s", h.name, what, seen(v))
		}
	}
}

func state(name string, want cluster.State) func(v *cluster.View) bool {
	return func(v *cluster.View) bool { m := v.Member(name); return m != nil && m.State == want }
}

func (w *world) within(what string, took, low, high time.Duration) {
	w.Helper()
	if took < low || took > high {
		w.Errorf("%s took %v, want %v to %v", what, took, low, high)
	}
}

// between cuts the paths between two nodes in both directions, or restores them.
func (w *world) between(a, b string, cut bool) {
	w.net.SetPath(a, b, clustertest.Path{Cut: cut})
	w.net.SetPath(b, a, clustertest.Path{Cut: cut})
}

func (w *world) keys(prefix string) (all []string) {
	w.Helper()
	found, err := w.admin.Read(w.Context(), coord.Query{Key: prefix, Prefix: true})
	if err != nil {
		w.Fatal(err)
	}
	for _, kv := range found.KVs {
		all = append(all, strings.TrimPrefix(kv.Key, string(keys)))
	}
	return all
}

func (w *world) reapings() []reaping {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.reaped)
}

// gate blocks all requests that pass through it while it is closed.
type gate struct {
	mu     sync.Mutex
	closed chan struct{} // closed when the gate opens; nil while the gate is open
	apart  bool
}

func (g *gate) set(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if on == (g.closed != nil) {
		return
	}
	if on {
		g.closed = make(chan struct{})
		return
	}
	close(g.closed)
	g.closed = nil
}

// pass waits until the gate is open. With apart, it then waits up to 1 us more, depending on what passes. So the order of
// what passes at the same instant does not depend on the scheduler.
func (g *gate) pass(what string) {
	for {
		g.mu.Lock()
		closed := g.closed
		g.mu.Unlock()
		if closed == nil {
			break
		}
		<-closed
	}
	if g.apart {
		time.Sleep(time.Duration(crc32.ChecksumIEEE([]byte(what)) % 1000))
	}
}

type gatedPeers struct {
	cluster.Peers
	*gate
}

func (p *gatedPeers) Call(ctx context.Context, to coord.Node, q messages.Request) (any, error) {
	p.pass(to.Name)
	defer p.pass(to.Name)
	return p.Peers.Call(ctx, to, q)
}

type gatedCoordinator struct {
	cluster.Coordinator
	*gate
}

func (c *gatedCoordinator) Read(ctx context.Context, q coord.Query) (coord.Found, error) {
	c.pass(q.Key)
	defer c.pass(q.Key)
	return c.Coordinator.Read(ctx, q)
}

func (c *gatedCoordinator) Commit(ctx context.Context, when []coord.Condition, changes []coord.Change) (bool, int64, error) {
	c.pass(changes[0].Key)
	defer c.pass(changes[0].Key)
	return c.Coordinator.Commit(ctx, when, changes)
}

func (c *gatedCoordinator) Grant(ctx context.Context, ttl time.Duration) (coord.Lease, error) {
	c.pass("lease")
	defer c.pass("lease")
	return c.Coordinator.Grant(ctx, ttl)
}

func (c *gatedCoordinator) Renew(ctx context.Context, l coord.Lease) error {
	c.pass("lease")
	defer c.pass("lease")
	return c.Coordinator.Renew(ctx, l)
}

func (c *gatedCoordinator) Revoke(ctx context.Context, l coord.Lease) error {
	c.pass("lease")
	defer c.pass("lease")
	return c.Coordinator.Revoke(ctx, l)
}

func (c *gatedCoordinator) Watch(ctx context.Context, prefix string, after int64) <-chan coord.Batch {
	batches := make(chan coord.Batch)
	go func() {
		defer close(batches)
		for b := range c.Coordinator.Watch(ctx, prefix, after) {
			c.pass(prefix)
			select {
			case batches <- b:
			case <-ctx.Done():
				return
			}
		}
	}()
	return batches
}
