package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"time"

	"troupe/actors/cluster"
	"troupe/actors/sessionlog"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/wire"
	"troupe/transport/console"
)

// clusterPages implements console.Cluster.
type clusterPages struct{ *clusterNode }

// pages returns the console's access to the cluster, or nil without a cluster.
func (h *Host) pages() console.Cluster {
	if h.node == nil {
		return nil
	}
	return clusterPages{h.node}
}

// Name returns the name of this node.
func (n clusterPages) Name() string { return n.name }

// Local answers for this node alone.
func (n clusterPages) Local() messages.Doer { return n.host.system }

// GameURLs returns the addresses at which the other nodes accept players' browsers.
func (n clusterPages) GameURLs() (all []string) {
	for _, o := range n.Others() {
		e, err := wire.ParseEndpoints(o.Players)
		if err != nil { // its listeners are not open yet
			continue
		}
		all = append(all, "ws://"+e.WS)
		if e.WSS != "" {
			all = append(all, "wss://"+e.WSS)
		}
	}
	return all
}

// Self describes this node.
func (n clusterPages) Self() console.Node {
	v := n.self.View()
	trouble, registered := n.self.Trouble()
	m := cluster.Member{Node: v.Self, State: cluster.Live}
	if !registered {
		m.State = cluster.Adrift
	}
	if known := v.Member(n.name); known != nil {
		m.Since = known.Since
	}
	shown := shownNode(v, &m)
	shown.Why = trouble
	if late, ok := n.self.Lag(); ok {
		shown.LagSeconds = new(late.Seconds())
	}
	return shown
}

// Nodes describes all nodes that this node knows.
func (n clusterPages) Nodes() (all []console.Node) {
	v := n.self.View()
	self := n.Self()
	if v.Member(n.name) == nil {
		all = append(all, self)
	}
	for i := range v.Members {
		if v.Members[i].Name == n.name {
			all = append(all, self)
			continue
		}
		all = append(all, shownNode(v, &v.Members[i]))
	}
	return all
}

func shownNode(v *cluster.View, m *cluster.Member) console.Node {
	shown := console.Node{
		Name: m.Name, State: m.State.String(), Leads: m.Name == v.Leader, Draining: m.Draining, Version: m.Version, Address: m.Peers,
		Locations: append([]string{}, m.Locations...), Players: m.Load.Players,
	}
	if !m.Since.IsZero() {
		shown.Since = new(m.Since.UTC())
	}
	for _, p := range m.Load.Places {
		shown.GameSessions, shown.Room = shown.GameSessions+p.Live, shown.Room+p.Room
	}
	switch m.State {
	case cluster.Adrift:
		shown.Why = "it answers, and is not registered"
	case cluster.Suspect:
		shown.Why = "it is not registered, and does not answer"
	case cluster.Lost:
		shown.Why = "it was declared lost: its game sessions are TERMINATED"
		if m.Draining {
			shown.Why, shown.Draining = "it ended while it was draining", false
		}
	}
	return shown
}

// Ask passes a request of the operator's API on to another node.
func (n clusterPages) Ask(ctx context.Context, node string, q coord.AskConsole) (a coord.ConsoleAnswer, err error) {
	return callNode(ctx, n.clusterNode, node, q)
}

// Forget declares a node lost.
func (n clusterPages) Forget(ctx context.Context, node string) error { return n.self.Forget(ctx, node) }

// callNode sends a request to the node with a name.
func callNode[A any](ctx context.Context, n *clusterNode, name string, q messages.RequestOf[A]) (a A, err error) {
	m := n.self.View().Member(name)
	if m == nil {
		return a, messages.Errorf(messages.NotFound, "node %s is not known", name)
	}
	answer, err := n.self.Call(ctx, m.Node, q)
	var refusal *messages.Error
	if err != nil && !errors.As(err, &refusal) {
		return a, messages.Errorf(messages.Unavailable, "node %s does not answer: it is %v", name, m.State)
	}
	a, _ = answer.(A)
	return a, err
}

// answer answers the requests of other nodes that do not go to actors. done is false for all others.
func (n *clusterNode) answer(ctx context.Context, q messages.Request) (answer any, done bool, err error) {
	switch q.(type) {
	case coord.AskConsole, coord.FollowEvents, coord.ReadLog:
	default:
		return nil, false, nil
	}
	select {
	case <-n.host.started:
	default:
		return nil, true, messages.Errorf(messages.Unavailable, "node %s is starting", n.name)
	}
	switch q := q.(type) {
	case coord.AskConsole:
		return n.host.console.Answer(ctx, q), true, nil
	case coord.FollowEvents:
		return n.host.events.Own(ctx, q.Since), true, nil
	case coord.ReadLog:
		part, err := n.readLog(ctx, q)
		return part, true, err
	}
	return nil, false, nil
}

const (
	followAgain = time.Second      // pause before a node is asked again that does not answer
	followMax   = 30 * time.Second // maximum time for an answer, which may wait for an event
)

// followEvents shows the events of the other nodes to readers of this node's, until ctx ends.
func (n *clusterNode) followEvents(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	followed := map[string]context.CancelFunc{}
	var work sync.WaitGroup
	defer work.Wait()
	defer cancel()
	for ctx.Err() == nil {
		v := n.self.View()
		names := n.Names()
		for _, name := range names {
			if name != n.name && followed[name] == nil {
				one, end := context.WithCancel(ctx)
				followed[name] = end
				work.Go(func() { n.followNode(one, name) })
			}
		}
		for name, end := range followed {
			if !slices.Contains(names, name) {
				end()
				delete(followed, name)
			}
		}
		select {
		case <-v.Replaced():
		case <-ctx.Done():
		}
	}
}

// followNode shows the events of one node, from its newest on.
func (n *clusterNode) followNode(ctx context.Context, name string) {
	since := uint64(coord.NewestEvent)
	var incarnation int64
	for ctx.Err() == nil {
		if m := n.self.View().Member(name); m != nil && m.Incarnation != incarnation {
			if incarnation != 0 {
				since = 0 // a new process counts from 0; events that were shown already are left out
			}
			incarnation = m.Incarnation
		}
		call, cancel := context.WithTimeout(ctx, followMax)
		page, err := callNode(call, n, name, coord.FollowEvents{Since: since})
		cancel()
		if err != nil {
			sleep(ctx, followAgain)
			continue
		}
		for _, e := range page.Events {
			n.host.events.Add(e)
		}
		since = page.Next
	}
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

const (
	logPartBytes = 256 << 10
	logPartWait  = time.Second
	logPartMax   = 10 * time.Second // maximum time for a part of a log from another node
)

// readLog returns a part of the log of a game session that this node has run.
func (n *clusterNode) readLog(ctx context.Context, q coord.ReadLog) (part coord.LogPart, err error) {
	at, whole := sessionlog.Place{File: q.At.File, Offset: q.At.Offset}, q.Tail == 0
	if q.Tail > 0 {
		if at, whole, err = n.host.logs.TailPlace(q.ID, q.Tail); err != nil {
			return part, noLog(q.ID, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, logPartWait)
	defer cancel()
	text := make([]byte, logPartBytes)
	read, next, end, err := n.host.logs.ReadAt(ctx, q.ID, at, text, q.Follow)
	if err != nil {
		return part, noLog(q.ID, err)
	}
	return coord.LogPart{Text: text[:read], Next: coord.LogPlace{File: next.File, Offset: next.Offset}, Whole: whole, End: end}, nil
}

func noLog(id messages.GameSessionID, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return messages.Errorf(messages.NotFound, "there is no log of game session %s", id)
	}
	return messages.Errorf(messages.Internal, "the log of game session %s cannot be read: %v", id, err)
}

// logElsewhere implements ops.Elsewhere.
func (n *clusterNode) logElsewhere(ctx context.Context, id messages.GameSessionID, tail int64, follow time.Duration) (io.ReadCloser, bool, error) {
	g, err := messages.Do(ctx, n.host.Doer(), messages.GameSessionQuery{ID: id})
	if errors.Is(err, &messages.Error{Code: messages.NotFound}) || err == nil && (g.Node == "" || g.Node == n.name) {
		return nil, false, fs.ErrNotExist
	}
	if err != nil {
		return nil, false, err
	}
	if m := n.self.View().Member(g.Node); m == nil || m.State == cluster.Lost {
		return nil, false, fs.ErrNotExist
	} else if m.State == cluster.Suspect {
		return nil, false, messages.Errorf(messages.Internal, "node %s, which has the log, does not answer", g.Node)
	}
	l := &remoteLog{ctx: ctx, node: n, name: g.Node, until: time.Now().Add(follow), q: coord.ReadLog{ID: id, Tail: tail}}
	if err := l.next(); err != nil {
		return nil, false, err
	}
	return l, l.whole, nil
}

// remoteLog reads a log from another node, part by part.
type remoteLog struct {
	ctx   context.Context
	node  *clusterNode
	name  string
	until time.Time // when to stop following
	q     coord.ReadLog
	part  []byte
	end   bool
	whole bool
}

func (l *remoteLog) next() error {
	l.q.Follow = time.Now().Before(l.until)
	call, cancel := context.WithTimeout(l.ctx, logPartMax)
	part, err := callNode(call, l.node, l.name, l.q)
	cancel()
	switch {
	case l.ctx.Err() != nil:
		return context.Cause(l.ctx)
	case errors.Is(err, &messages.Error{Code: messages.NotFound}):
		return fs.ErrNotExist
	case err != nil:
		return messages.Errorf(messages.Internal, "the log cannot be fetched: %v", err)
	case len(part.Text) == 0 && !part.End && !l.q.Follow:
		return fmt.Errorf("the log of node %s does not go on", l.name)
	}
	if l.q.Tail > 0 {
		l.whole, l.q.Tail = part.Whole, 0
	} else if l.q.At == (coord.LogPlace{}) {
		l.whole = part.Whole
	}
	l.part, l.end, l.q.At = part.Text, part.End, part.Next
	return nil
}

// Read implements io.Reader.
func (l *remoteLog) Read(p []byte) (int, error) {
	for len(l.part) == 0 {
		if l.end {
			return 0, io.EOF
		}
		if err := l.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.part)
	l.part = l.part[n:]
	return n, nil
}

// Close implements io.Closer.
func (l *remoteLog) Close() error { return nil }
