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
func (n *Node) Call(ctx context.Context, to coord.Node, q messages.Request) (answer any, err error) {
	if n.paths.isBroken(to.Name) {
		if answer, err = n.around(ctx, to, q); !errors.Is(err, errNoDetour) {
			return answer, err
		}
	}
	answer, err = n.o.Peers.Call(ctx, to, q)
	var refusal *messages.Error
	if err == nil || errors.As(err, &refusal) || errors.Is(err, coord.ErrRefused) || errors.Is(err, coord.ErrUntrusted) {
		return answer, err
	}
	n.doubt(to)
	if errors.Is(err, coord.ErrUnavailable) {
		if answer, passed := n.around(ctx, to, q); !errors.Is(passed, errNoDetour) {
			return answer, passed
		}
	}
	return nil, err
}

// errNoDetour means that no third node has passed a request on.
var errNoDetour = errors.New("no detour")

// around sends a request through a third node.
func (n *Node) around(ctx context.Context, to coord.Node, q messages.Request) (any, error) {
	name, body, err := peer.Encode(q)
	if err != nil {
		return nil, err
	}
	for _, third := range n.thirds(to) {
		answer, err := n.o.Peers.Call(ctx, third, coord.Detour{To: to, Request: name, Body: body})
		var refusal *messages.Error
		if errors.As(err, &refusal) || errors.Is(err, coord.ErrRefused) {
			continue
		}
		if err != nil {
			n.doubt(third)
		}
		passed, _ := answer.(coord.Detoured)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, coord.ErrUnavailable):
			continue
		case passed.Outcome == coord.Answered:
			return peer.DecodeAnswer(q, passed.Body)
		case passed.Outcome == coord.Refused:
			return nil, fmt.Errorf("%w: node %s through %s", coord.ErrRefused, to.Name, third.Name)
		}
		return nil, fmt.Errorf("%w: node %s through %s", coord.ErrUnknown, to.Name, third.Name)
	}
	return nil, errNoDetour
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

// thirds returns the nodes through which another one may be reached, in random order.
func (n *Node) thirds(to coord.Node) (all []coord.Node) {
	for _, m := range n.View().Members {
		if (m.State == Live || m.State == Adrift) && m.Name != to.Name && m.Name != n.o.Self.Name && !n.paths.isBroken(m.Name) {
			all = append(all, m.Node)
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
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
