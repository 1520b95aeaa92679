package clustertest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"troupe/actors/cluster"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/peer"
)

// Silence is how long a call waits for a peer that sends nothing.
const Silence = 3 * time.Second

// Net is a network in memory between processes of nodes. Its methods may be called from any goroutine. Close ends all
// processes. It returns when their handlers have returned.
type Net struct {
	mu        sync.Mutex
	chance    *rand.Rand
	processes map[string]*Process  // by address
	paths     map[[2]string]Path   // from, to: names of nodes
	connected map[[2]string]uint64 // from, to: the process to which the node is connected
	begun     uint64               // number of processes that were started
	changed   chan struct{}        // closed at each change of anything
	handlers  sync.WaitGroup
}

// Path is the condition of the path from one node to another, for requests and answers.
type Path struct {
	Delay time.Duration
	Cut   bool    // nothing arrives
	Loss  float64 // 0 to 1: the probability that a request or an answer is lost, with the connection
}

// Process is a process that listens at an address. Its methods may be called from any goroutine.
type Process struct {
	net         *Net
	node        string
	number      uint64
	handler     messages.Doer
	incarnation int64
	stopped     bool
	frozen      bool
	refused     int64
}

// NewNet returns a network without processes. Which messages are lost depends on the seed and on the order of calls.
func NewNet(seed uint64) *Net {
	return &Net{
		chance: rand.New(rand.NewPCG(seed, seed)), processes: map[string]*Process{}, paths: map[[2]string]Path{},
		connected: map[[2]string]uint64{}, changed: make(chan struct{}),
	}
}

// Close ends the network.
func (n *Net) Close() {
	n.mu.Lock()
	for _, p := range n.processes {
		p.stopped = true
	}
	n.processes = map[string]*Process{}
	n.wake()
	n.mu.Unlock()
	n.handlers.Wait()
}

func (n *Net) wake() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// SetPath sets the condition of the path from one node to another.
func (n *Net) SetPath(from, to string, p Path) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.paths[[2]string{from, to}] = p
	n.wake()
}

// Start starts a process of a node at the address node.Peers. It ends any process that uses that address.
func (n *Net) Start(node coord.Node, handler messages.Doer) *Process {
	n.mu.Lock()
	defer n.mu.Unlock()
	if old := n.processes[node.Peers]; old != nil {
		old.stopped = true
	}
	n.begun++
	p := &Process{net: n, node: node.Name, number: n.begun, handler: handler, incarnation: node.Incarnation}
	n.processes[node.Peers] = p
	n.wake()
	return p
}

// set calls f to change the process, and wakes waiting calls.
func (p *Process) set(f func()) {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	f()
	p.net.wake()
}

// SetIncarnation sets the incarnation, as a new registration does.
func (p *Process) SetIncarnation(i int64) { p.set(func() { p.incarnation = i }) }

// Freeze stops the process as SIGSTOP does, or continues it. A stopped process receives requests that are already on
// their way, but sends no answers. Its handlers keep running.
func (p *Process) Freeze(on bool) { p.set(func() { p.frozen = on }) }

// Stop ends the process.
func (p *Process) Stop() {
	p.set(func() {
		p.stopped = true
		for at, other := range p.net.processes {
			if other == p {
				delete(p.net.processes, at)
			}
		}
	})
}

// Refused returns the number of refused calls that were meant for another process.
func (p *Process) Refused() int64 {
	p.net.mu.Lock()
	defer p.net.mu.Unlock()
	return p.refused
}

// Peers returns the cluster.Peers with which a node calls others.
func (n *Net) Peers(from string) cluster.Peers { return &caller{n, from} }

type caller struct {
	net  *Net
	from string
}

// call is a call in progress.
type call struct {
	*caller
	ctx  context.Context
	to   coord.Node
	pair [2]string
	sent bool // the request may have arrived
}

// Call implements cluster.Peers.
func (c *caller) Call(ctx context.Context, to coord.Node, q messages.Request) (any, error) {
	name, body, err := peer.Encode(q)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	x := &call{caller: c, ctx: ctx, to: to, pair: [2]string{c.from, to.Name}}
	if body, err = x.run(name, body); err != nil {
		return nil, err
	}
	return peer.DecodeAnswer(q, body)
}

// run sends a request to the process at the address, and returns its answer.
func (c *call) run(name string, body []byte) ([]byte, error) {
	n := c.net
	n.mu.Lock()
	p := n.processes[c.to.Peers]
	c.sent = p != nil && n.connected[c.pair] == p.number
	open := c.sent || !n.paths[c.back()].Cut && (p == nil || !p.frozen) // whether a connection can be made
	lost := n.lost(c.pair)
	n.mu.Unlock()
	if !open || lost {
		return nil, c.hold(p, nil, true)
	}
	if !sleep(c.ctx, n.path(c.pair).Delay) {
		return nil, c.ctx.Err()
	}
	if refusal := c.refusal(p); refusal != "" {
		if err := c.comesBack(p); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: %s", coord.ErrRefused, refusal)
	}
	c.sent = true
	answer, answered, cancel := c.handle(p, name, body)
	defer cancel()
	if err := c.hold(p, answered, false); err != nil {
		return nil, err
	}
	if *answer == nil { // the handler has noticed the deadline before this goroutine
		<-c.ctx.Done()
		return nil, c.ctx.Err()
	}
	return *answer, c.comesBack(p)
}

// comesBack waits until an answer has arrived.
func (c *call) comesBack(p *Process) error {
	c.net.mu.Lock()
	lost := c.net.lost(c.back()) || p != nil && p.frozen
	c.net.mu.Unlock()
	if lost {
		return c.hold(p, nil, true)
	}
	if !sleep(c.ctx, c.net.path(c.back()).Delay) {
		return c.ctx.Err()
	}
	return nil
}

func (c *call) back() [2]string { return [2]string{c.pair[1], c.pair[0]} }

func (n *Net) path(pair [2]string) Path {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.paths[pair]
}

// lost decides at random whether a message is lost.
func (n *Net) lost(pair [2]string) bool {
	p := n.paths[pair]
	return p.Cut || p.Loss > 0 && n.chance.Float64() < p.Loss
}

// refusal returns why the process refuses the call, or "" if it accepts it. In that case refusal connects the nodes.
func (c *call) refusal(p *Process) string {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	switch {
	case p == nil || p.stopped:
		return "nobody listens at " + c.to.Peers
	case p.node != c.to.Name || p.incarnation != c.to.Incarnation:
		p.refused++
		return fmt.Sprintf("node %s, incarnation %d is at %s", p.node, p.incarnation, c.to.Peers)
	}
	c.net.connected[c.pair] = p.number
	return ""
}

// handle makes a process answer, once the process is not frozen. answer is set when answered is closed.
func (c *call) handle(p *Process, name string, body []byte) (answer *[]byte, answered chan struct{}, cancel func()) {
	ctx, cancel := context.WithCancel(messages.WithReplayKey(context.Background(), messages.ReplayKey(c.ctx)))
	if deadline, ok := c.ctx.Deadline(); ok {
		within, stop := context.WithDeadline(ctx, deadline)
		ctx = within
		context.AfterFunc(ctx, stop)
	}
	answer, answered = new([]byte), make(chan struct{})
	c.net.handlers.Go(func() {
		defer close(answered)
		for {
			c.net.mu.Lock()
			frozen, stopped, changed := p.frozen, p.stopped, c.net.changed
			c.net.mu.Unlock()
			if stopped {
				return
			}
			if !frozen {
				break
			}
			<-changed
		}
		*answer = serve(ctx, p.handler, name, body)
	})
	c.net.handlers.Go(func() { // cancels the handler if its process stops
		for {
			c.net.mu.Lock()
			stopped, changed := p.stopped, c.net.changed
			c.net.mu.Unlock()
			if stopped {
				cancel()
			}
			select {
			case <-answered:
				return
			case <-changed:
			}
		}
	})
	return answer, answered, cancel
}

// serve answers a request as a process does. It returns nil if ctx has ended.
func serve(ctx context.Context, handler messages.Doer, name string, body []byte) (answer []byte) {
	q, err := peer.Decode(name, body)
	if err != nil {
		return peer.EncodeError(err)
	}
	defer func() {
		if recover() != nil {
			answer = peer.EncodeError(messages.Errorf(messages.Internal, "%s failed", name))
		}
	}()
	a, err := handler.Do(ctx, q)
	if ctx.Err() != nil {
		return nil
	}
	return peer.EncodeAnswer(q, a, err)
}

// hold waits for an answer. It fails when ctx ends, when the process stops, or when nothing has been received for
// Silence. With lost, the silence begins at the call of hold.
func (c *call) hold(p *Process, answered <-chan struct{}, lost bool) error {
	n := c.net
	var silence <-chan time.Time
	for {
		n.mu.Lock()
		stopped := p != nil && p.stopped
		silent := lost || p.frozen || n.paths[c.pair].Cut || n.paths[c.back()].Cut
		changed := n.changed
		n.mu.Unlock()
		switch {
		case stopped && !lost:
			return c.broken("its process ended")
		case !silent:
			silence = nil
		case silence == nil:
			silence = time.After(Silence)
		}
		select {
		case <-answered:
			n.mu.Lock()
			stopped := p.stopped
			n.mu.Unlock()
			if stopped {
				return c.broken("its process ended")
			}
			return nil
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-silence:
			return c.broken("nothing was heard of it")
		case <-changed:
		}
	}
}

// broken ends the connection.
func (c *call) broken(why string) error {
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	delete(c.net.connected, c.pair)
	if c.sent {
		return fmt.Errorf("%w: %s", coord.ErrUnknown, why)
	}
	return fmt.Errorf("%w: %s", coord.ErrUnavailable, why)
}
