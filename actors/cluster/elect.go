package cluster

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
)

const (
	campaignMax = 200 * time.Millisecond // maximum delay of a candidate; a random delay keeps candidates from campaigning all at once
	leaderMax   = 8 * time.Second        // maximum time that a call waits for a leader
	waitersMax  = 1000                   // maximum number of calls that wait for a leader at the same time
)

// elect runs until ctx ends. It leads while this node is the leader, and follows otherwise.
func (n *Node) elect(ctx context.Context) {
	random := n.random(0)
	for ctx.Err() == nil {
		following, stop := context.WithCancel(ctx)
		var work sync.WaitGroup
		work.Go(func() { n.chaseMissing(following, 0) })
		term := n.follow(ctx, random)
		stop()
		work.Wait()
		if term != 0 {
			n.lead(ctx, term)
		}
	}
}

// follow waits until this node leads, and returns the term. It returns 0 if ctx ends. The node is a candidate whenever
// no node leads.
func (n *Node) follow(ctx context.Context, random *rand.Rand) (term int64) {
	for ctx.Err() == nil {
		v := n.View()
		switch {
		case v.Leads:
			return v.Term
		case v.vacant && !v.Draining:
			n.campaign(ctx, random)
			continue
		}
		select {
		case <-v.Replaced():
		case <-ctx.Done():
		}
	}
	return 0
}

// campaign makes one attempt to become the leader. It returns when the outcome may be known. An attempt without an
// answer may still succeed later; the node then learns it from the key.
func (n *Node) campaign(ctx context.Context, random *rand.Rand) {
	if !Sleep(ctx, time.Duration(random.Int64N(int64(campaignMax)))) {
		return
	}
	n.mu.Lock()
	self, lease, present := n.self, n.lease, n.present && n.roster.term == 0
	n.mu.Unlock()
	if !present || self.Draining {
		return
	}
	key := n.keys.Lead()
	value := coord.Encode(coord.Lead{Node: self.Name, Incarnation: self.Incarnation})
	when := []coord.Condition{coord.Absent(key), coord.Incarnation(n.keys.Node(self.Name), self.Incarnation)}
	if _, at, err := n.commit(ctx, when, coord.Change{Key: key, Value: value, Lease: lease}); err == nil {
		ctx, cancel := context.WithTimeout(ctx, attempt)
		defer cancel()
		_ = n.leads.WaitFor(ctx, at)
	}
}

// lead leads until the term ends. It then deletes the key if the key still exists.
func (n *Node) lead(ctx context.Context, term int64) {
	n.o.Log.Info().Str("node", n.o.Self.Name).Int64("term", term).Msg("node leads")
	n.change(func() { n.roster.beginTerm(time.Now()) })
	during, end := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { n.chaseMissing(during, term) })
	work.Go(func() { n.findOrphans(during) })
	work.Go(func() { n.raiseSchema(during, term) })
	work.Go(func() {
		defer end()
		n.o.Lead(during, term)
	})
	for over := false; !over; {
		v := n.View()
		if !v.Leads || v.Term != term {
			break
		}
		select {
		case <-v.Replaced():
		case <-during.Done():
			over = true
		}
	}
	end()
	n.change(func() { n.resigned = term })
	work.Wait()
	n.o.Log.Info().Str("node", n.o.Self.Name).Int64("term", term).Msg("node leads no longer")
	var p pause
	for ctx.Err() == nil && n.holds(term) {
		done, at, err := n.commit(ctx, []coord.Condition{coord.Incarnation(n.keys.Lead(), term)}, coord.Delete(n.keys.Lead()))
		if err == nil && done {
			_ = n.leads.WaitFor(ctx, at)
		} else {
			p.rest(ctx)
		}
	}
}

// holds reports whether the key of a term still exists.
func (n *Node) holds(term int64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.roster.term == term
}

// Leader returns the leader and its term. If there is no leader, it waits up to 8 s for one. self means that this node
// leads. The error is ctx's, or a messages.Error: no node leads, or too many calls are already waiting.
func (n *Node) Leader(ctx context.Context) (leader coord.Node, term int64, self bool, err error) {
	var limit *time.Timer // nil until the call waits
	for {
		v := n.View()
		if v.Leads {
			return v.Self, v.Term, true, nil
		}
		if m := v.Member(v.Leader); m != nil && v.Leader != v.Self.Name {
			return m.Node, v.Term, false, nil
		}
		if limit == nil {
			defer n.waits.Add(-1)
			if n.waits.Add(1) > waitersMax {
				return coord.Node{}, 0, false, messages.Errorf(messages.Internal, "no node of the cluster leads, and too many calls wait")
			}
			limit = time.NewTimer(leaderMax)
			defer limit.Stop()
		}
		select {
		case <-v.Replaced():
		case <-limit.C:
			return coord.Node{}, 0, false, messages.Errorf(messages.Internal, "no node of the cluster leads")
		case <-ctx.Done():
			return coord.Node{}, 0, false, ctx.Err()
		}
	}
}
