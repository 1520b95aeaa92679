package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
)

const (
	askEvery = time.Second // interval at which a node that is not registered is asked
	probers  = 2           // number of other nodes that the leader asks to try as well
	reachMax = 2 * time.Second
)

// chaseMissing asks all nodes that are not registered, until ctx ends. In a term of this node, it reaps the lost ones.
// term is 0 if this node does not lead.
func (n *Node) chaseMissing(ctx context.Context, term int64) {
	type process struct {
		name        string
		incarnation int64
	}
	chases := map[process]context.CancelFunc{}
	var work sync.WaitGroup
	defer work.Wait()
	for {
		v := n.View()
		wanted := map[process]bool{}
		for _, m := range v.Members {
			if m.State != Adrift && m.State != Suspect || m.Name == v.Self.Name {
				continue
			}
			p := process{m.Name, m.Incarnation}
			if wanted[p] = true; chases[p] == nil {
				chase, cancel := context.WithCancel(ctx)
				chases[p] = cancel
				work.Go(func() { n.chase(chase, m.Node, term) })
			}
		}
		for p, cancel := range chases {
			if !wanted[p] {
				cancel()
				delete(chases, p)
			}
		}
		select {
		case <-v.Replaced():
		case <-ctx.Done():
			for _, cancel := range chases {
				cancel()
			}
			return
		}
	}
}

// chase asks one node until that node is registered again or is reaped.
func (n *Node) chase(ctx context.Context, m coord.Node, term int64) {
	random := n.random(uint64(m.Incarnation))
	for ctx.Err() == nil {
		begin := time.Now()
		v := judge(n.ask(ctx, m, term != 0, random))
		if ctx.Err() != nil {
			return
		}
		reap := false
		n.change(func() { reap = n.roster.note(m, v, term != 0, time.Now()) })
		if reap {
			err := n.learn(ctx, m)
			if err == nil {
				err = n.o.Reap(ctx, term, m)
			}
			if err == nil {
				n.change(func() { n.roster.reaped(m, time.Now()) })
				n.o.Log.Warn().Str("node", m.Name).Int64("incarnation", m.Incarnation).Msg("node lost: its game sessions ended")
				return
			}
			n.o.Log.Warn().Str("node", m.Name).Err(err).Msg("a lost node's game sessions are not ended yet")
		}
		Sleep(ctx, askEvery-time.Since(begin))
	}
}

// errLater means that the node has had a later incarnation. That incarnation must be asked instead.
var errLater = errors.New("the node has had a later incarnation")

// learn reads the index of a node that is to be reaped. If the index belongs to a later incarnation, which this node has
// missed, learn records that incarnation and returns errLater.
func (n *Node) learn(ctx context.Context, m coord.Node) error {
	found, err := n.read(ctx, coord.Query{Key: n.keys.Host(m.Name), Prefix: true, Most: 1})
	if err != nil || len(found.KVs) == 0 {
		return err
	}
	if entry, err := coord.Decode[coord.HostGame](found.KVs[0]); err == nil && entry.Incarnation > m.Incarnation {
		n.change(func() { n.roster.learn(m, entry) })
		return errLater
	}
	return nil
}

// ask returns the outcomes of attempts to reach a node: this node's and, if others is set, those of two other nodes.
func (n *Node) ask(ctx context.Context, m coord.Node, others bool, random *rand.Rand) []coord.Outcome {
	var live []coord.Node
	for _, o := range n.View().Members {
		if others && o.State == Live && o.Name != m.Name && o.Name != n.o.Self.Name {
			live = append(live, o.Node)
		}
	}
	shuffle(random, live)
	live = live[:min(len(live), probers)]
	answers := make([]coord.Outcome, 1+len(live))
	var all sync.WaitGroup
	for i, o := range live {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, reachMax)
			defer cancel()
			answer, _ := n.o.Peers.Call(ctx, o, coord.Reach{Node: m, Incarnation: m.Incarnation})
			reached, _ := answer.(coord.Reached)
			answers[1+i] = reached.Outcome // 0 if that node did not answer
		})
	}
	answers[0] = n.find(ctx, m)
	all.Wait()
	return answers
}

// find reports whether a node answers, as the incarnation in m or as another known incarnation. The node may have
// registered again without knowing it, or without this node knowing it.
func (n *Node) find(ctx context.Context, m coord.Node) coord.Outcome {
	n.mu.Lock()
	all := []coord.Node{m}
	if k := n.roster.members[m.Name]; k != nil {
		before := k.Node
		before.Incarnation = k.before
		all = append(all, k.Node, before)
	}
	n.mu.Unlock()
	outcome := coord.Silent
	for i, one := range all {
		if i > 0 && (one.Incarnation == 0 || one.Incarnation == m.Incarnation) {
			continue
		}
		if outcome = n.hello(ctx, one); outcome != coord.Refused {
			break
		}
	}
	return outcome
}

func (n *Node) hello(ctx context.Context, to coord.Node) coord.Outcome {
	switch _, err := n.greet(ctx, to); {
	case err == nil:
		return coord.Answered
	case errors.Is(err, coord.ErrRefused):
		return coord.Refused
	}
	return coord.Silent
}

// greet sends Hello to a node. A refusal is an answer, too; it is empty.
func (n *Node) greet(ctx context.Context, to coord.Node) (coord.HelloAnswer, error) {
	if to.Peers == "" {
		return coord.HelloAnswer{}, coord.ErrUnavailable
	}
	answer, err := request(ctx, func(ctx context.Context) (any, error) { return n.o.Peers.Call(ctx, to, coord.Hello{}) })
	hello, _ := answer.(coord.HelloAnswer)
	var refusal *messages.Error
	if errors.As(err, &refusal) {
		return hello, nil
	}
	return hello, err
}

// findOrphans adds unknown nodes that have game sessions in the directory. An earlier leader may not have reaped them.
func (n *Node) findOrphans(ctx context.Context) {
	var p pause
	q := coord.Query{Key: n.keys.Hosts(), Prefix: true, Most: 1}
	for ctx.Err() == nil {
		found, err := n.read(ctx, q)
		if err != nil {
			p.rest(ctx)
			continue
		}
		if len(found.KVs) == 0 {
			return
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(found.KVs[0].Key, n.keys.Hosts()), "/")
		q.After = n.keys.Hosts() + name + "0"                  // '0' follows '/'
		entry, _ := coord.Decode[coord.HostGame](found.KVs[0]) // without an address, the node counts as silent
		orphan := coord.Node{Name: name, Peers: entry.Peers, Incarnation: entry.Incarnation}
		n.change(func() { n.roster.addOrphan(orphan, time.Now()) })
	}
}
