package actors

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/search"
)

// nodeAnswer is the answer of one node.
type nodeAnswer struct {
	node   string
	answer any
	err    error
	silent bool // the node did not answer, or is starting or shutting down
}

// ask sends a request to all other nodes at the same time.
func (c *Cluster) ask(ctx context.Context, q messages.Request, limit time.Duration) []nodeAnswer {
	return c.askThese(ctx, c.members.Others(), q, limit)
}

func (c *Cluster) askThese(ctx context.Context, others []coord.Node, q messages.Request, limit time.Duration) []nodeAnswer {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answers := make([]nodeAnswer, len(others))
	var all sync.WaitGroup
	for i, n := range others {
		all.Go(func() {
			answer, err := c.peers.Call(ctx, n, q)
			var refusal *messages.Error
			answers[i] = nodeAnswer{n.Name, answer, err, err != nil && (!errors.As(err, &refusal) || refusal.Code == messages.Unavailable)}
			if answers[i].silent {
				answers[i].err = messages.Errorf(messages.Internal, "node %s does not answer: %v", n.Name, err)
			}
		})
	}
	all.Wait()
	return answers
}

// spread sends a request to all nodes and joins the answers. If this node refuses the request, it is refused. If a node
// does not answer, it is skipped for searches; for other requests spread returns an error.
func (c *Cluster) spread(ctx context.Context, q messages.Request) (any, error) {
	limit, find, isFind := silentMax, messages.FindGameSessions{}, false
	if find, isFind = q.(messages.FindGameSessions); isFind {
		if !find.All {
			limit = searchMax
		}
		each := find
		if each.Limit > 0 {
			each.Limit++ // one more result shows whether there are further results
		}
		q = each
	}
	var others []nodeAnswer
	done := make(chan struct{})
	go func() {
		defer close(done)
		others = c.ask(ctx, q, limit)
	}()
	own, err := c.read(ctx, q)
	<-done
	missing := isCode(err, messages.NotFound) && isPlayerSessionID(q) // another node may have the player session
	if err != nil && !missing {
		return nil, err
	}
	var answers []any
	var silent []string
	if !missing {
		answers = append(answers, own)
	}
	for _, a := range others {
		switch {
		case a.err == nil:
			answers = append(answers, a.answer)
		case limit == searchMax && a.silent:
			silent = append(silent, a.node)
		case limit == searchMax, isCode(a.err, messages.NotFound):
		default:
			return nil, messages.Errorf(messages.Internal, "%v", a.err)
		}
	}
	if len(answers) == 0 {
		return nil, err
	}
	if len(silent) > 0 {
		c.local.count.PartialFinds.Add(1)
	}
	if isFind {
		found, err := joinFound(find, answers)
		found.Silent = silent
		return found, err
	}
	return join(answers), nil
}

func isPlayerSessionID(q messages.Request) bool {
	p, is := q.(messages.PlayerSessionQuery)
	return is && p.PlayerSessionID != ""
}

// join combines the answers of several nodes into one. The first answer is this node's.
func join(answers []any) any {
	switch answers[0].(type) {
	case []*messages.PlayerSession:
		all := joined[*messages.PlayerSession](answers)
		slices.SortStableFunc(all, func(a, b *messages.PlayerSession) int { return a.Created.Compare(b.Created) })
		return all
	case []messages.Instance:
		return joined[messages.Instance](answers)
	case []messages.Candidate:
		return joinSame(answers, func(a, b *messages.Candidate) bool { return a.FleetID == b.FleetID && a.Location == b.Location },
			func(to, from *messages.Candidate) { to.Room = to.Room || from.Room })
	case []messages.FleetUse:
		return joinSame(answers, func(a, b *messages.FleetUse) bool { return a.Fleet.ID == b.Fleet.ID && a.Location == b.Location }, addUse)
	}
	return answers[0]
}

func joined[T any](answers []any) (all []T) {
	for _, a := range answers {
		list, _ := a.([]T)
		all = append(all, list...)
	}
	return all
}

// joinSame combines lists of items. If another node has the same item as this node, add merges it into this node's
// item.
func joinSame[T any](answers []any, same func(a, b *T) bool, add func(to, from *T)) []T {
	own, _ := answers[0].([]T)
	all := slices.Clone(own)
	for _, item := range joined[T](answers[1:]) {
		if i := slices.IndexFunc(all, func(o T) bool { return same(&o, &item) }); i >= 0 {
			add(&all[i], &item)
		}
	}
	return all
}

func addUse(to, from *messages.FleetUse) {
	to.Groups.Desired += from.Groups.Desired
	to.Pending += from.Pending
	to.Active += from.Active
	to.Idle += from.Idle
	to.Terminating += from.Terminating
	to.Processes += from.Processes
	to.GameSessions += from.GameSessions
	to.Players += from.Players
	to.PlayersMax += from.PlayersMax
}

// joinFound selects the page of results from the first pages of all nodes.
func joinFound(q messages.FindGameSessions, answers []any) (messages.FoundGameSessions, error) {
	var all []*messages.GameSession
	matched := 0
	for _, a := range answers {
		f, _ := a.(messages.FoundGameSessions)
		all, matched = append(all, f.GameSessions...), matched+f.Matched
	}
	slices.SortFunc(all, func(a, b *messages.GameSession) int { return cmp.Compare(a.ID, b.ID) })
	all = slices.CompactFunc(all, func(a, b *messages.GameSession) bool { return a.ID == b.ID })
	found, err := search.Find(&q, func(yield func(*messages.GameSession, int) bool) {
		for _, g := range all {
			if !yield(g, g.CurrentPlayers) {
				return
			}
		}
	})
	found.Matched = matched
	return found, err
}

// rooms records when a node may have more room.
type rooms struct {
	mu      sync.Mutex
	version uint64
	waiting []chan struct{}
	polled  map[string]bool   // nodes for which pollRoom is running
	seen    map[string]uint64 // the last version that each node reported
}

// awaitRoom answers an AwaitRoom as soon as one node reports more room.
func (c *Cluster) awaitRoom(ctx context.Context, since uint64) (any, error) {
	r := &c.rooms
	r.mu.Lock()
	if since != r.version {
		defer r.mu.Unlock()
		return messages.Room{Version: r.version}, nil
	}
	more := make(chan struct{})
	r.waiting = append(r.waiting, more)
	for _, n := range append(c.members.Others(), coord.Node{}) {
		if !r.polled[n.Name] {
			r.polled[n.Name] = true
			c.work.Go(func() { c.pollRoom(n) })
		}
	}
	r.mu.Unlock()
	select {
	case <-more:
		r.mu.Lock()
		defer r.mu.Unlock()
		return messages.Room{Version: r.version}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// pollRoom waits for more room on a node, repeatedly, until no request waits or the node does not answer. A node with
// an empty name is this node.
func (c *Cluster) pollRoom(n coord.Node) {
	r := &c.rooms
	r.mu.Lock()
	defer r.mu.Unlock()
	for len(r.waiting) > 0 && c.ctx.Err() == nil {
		q := messages.AwaitRoom{Since: r.seen[n.Name]}
		r.mu.Unlock()
		var answer any
		var err error
		if n.Name == "" {
			answer, err = c.local.Do(c.ctx, q)
		} else {
			answer, err = c.peers.Call(c.ctx, n, q)
		}
		r.mu.Lock()
		room, _ := answer.(messages.Room)
		if err != nil {
			r.mu.Unlock()
			again := c.rest(n)
			r.mu.Lock()
			if again {
				continue
			}
			break
		}
		r.seen[n.Name] = room.Version
		r.tell()
	}
	delete(r.polled, n.Name)
}

// rest waits a second before a node that did not answer is asked again. It reports whether the node is still in the
// cluster.
func (c *Cluster) rest(n coord.Node) bool {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.ctx.Done():
		return false
	}
	return n.Name == "" || slices.ContainsFunc(c.members.Others(), func(o coord.Node) bool { return o.Name == n.Name })
}

// tell answers the waiting requests. The caller holds the lock.
func (r *rooms) tell() {
	r.version++
	for _, more := range r.waiting {
		close(more)
	}
	r.waiting = nil
}
