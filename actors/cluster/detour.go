package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/peer"
)

// pathEvery is the interval at which a node tries a broken path again.
const pathEvery = time.Second

// paths are the paths to other nodes that may be broken.
type paths struct {
	mu     sync.Mutex
	broken map[string]bool // by name of the node: whether the last Hello was not answered; no entry for other nodes
}

// Call implements Peers. While the path to a node is broken, its calls go through a third node (cluster.md 6.3). A path
// counts as broken from a call without an answer on, if no Hello is answered either, until one is.
func (n *Node) Call(ctx context.Context, to coord.Node, q messages.Request) (any, error) {
	if n.paths.isBroken(to.Name) {
		if third, found := n.third(to); found {
			return n.around(ctx, third, to, q)
		}
	}
	answer, err := n.o.Peers.Call(ctx, to, q)
	var refusal *messages.Error
	if err == nil || errors.As(err, &refusal) || errors.Is(err, coord.ErrRefused) || errors.Is(err, coord.ErrUntrusted) {
		return answer, err
	}
	n.doubt(to)
	if third, found := n.third(to); found && errors.Is(err, coord.ErrUnavailable) {
		return n.around(ctx, third, to, q)
	}
	return answer, err
}

// around sends a request through a third node.
func (n *Node) around(ctx context.Context, third, to coord.Node, q messages.Request) (any, error) {
	name, body, err := peer.Encode(q)
	if err != nil {
		return nil, err
	}
	answer, err := n.o.Peers.Call(ctx, third, coord.Detour{To: to, Request: name, Body: body})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	switch passed, _ := answer.(coord.Detoured); {
	case err != nil: // the third node may have passed the request on
		return nil, fmt.Errorf("%w: node %s through %s: %w", coord.ErrUnknown, to.Name, third.Name, err)
	case passed.Outcome == coord.Answered:
		return peer.DecodeAnswer(q, passed.Body)
	case passed.Outcome == coord.Refused:
		return nil, fmt.Errorf("%w: node %s through %s", coord.ErrRefused, to.Name, third.Name)
	}
	return nil, fmt.Errorf("%w: node %s through %s", coord.ErrUnknown, to.Name, third.Name)
}

// pass sends a request of a node that does not reach its target.
func (n *Node) pass(ctx context.Context, d coord.Detour) (coord.Detoured, error) {
	q, err := peer.Decode(d.Request, d.Body)
	if err != nil {
		return coord.Detoured{}, err
	}
	if _, again := q.(coord.Detour); again {
		return coord.Detoured{}, messages.Errorf(messages.InvalidRequest, "a request has at most one detour")
	}
	answer, err := n.o.Peers.Call(ctx, d.To, q)
	var refusal *messages.Error
	switch {
	case err == nil || errors.As(err, &refusal):
		return coord.Detoured{Outcome: coord.Answered, Body: peer.EncodeAnswer(q, answer, err)}, nil
	case errors.Is(err, coord.ErrRefused):
		return coord.Detoured{Outcome: coord.Refused}, nil
	}
	return coord.Detoured{Outcome: coord.Silent}, nil
}

// third returns a node through which another one may be reached.
func (n *Node) third(to coord.Node) (third coord.Node, found bool) {
	members := n.View().Members
	for _, i := range rand.Perm(len(members)) {
		m := members[i]
		if (m.State == Live || m.State == Adrift) && m.Name != to.Name && m.Name != n.o.Self.Name && !n.paths.isBroken(m.Name) {
			return m.Node, true
		}
	}
	return third, false
}

func (p *paths) isBroken(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken[name]
}

// doubt tries the path to a node with Hello until it is answered, or until the node is registered no longer.
func (n *Node) doubt(to coord.Node) {
	n.paths.mu.Lock()
	defer n.paths.mu.Unlock()
	if _, tried := n.paths.broken[to.Name]; tried || n.ctx.Err() != nil {
		return
	}
	n.paths.broken[to.Name] = false
	n.work.Go(func() {
		for n.registeredAs(to) && n.hello(n.ctx, to) == coord.Silent {
			n.paths.set(to.Name, true)
			if !Sleep(n.ctx, pathEvery) {
				break
			}
		}
		n.paths.mu.Lock()
		defer n.paths.mu.Unlock()
		delete(n.paths.broken, to.Name)
	})
}

func (p *paths) set(name string, broken bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken[name] = broken
}

// registeredAs reports whether a node is registered under its incarnation.
func (n *Node) registeredAs(to coord.Node) bool {
	for _, m := range n.View().Members {
		if m.Name == to.Name {
			return m.Incarnation == to.Incarnation && m.State != Lost
		}
	}
	return false
}
