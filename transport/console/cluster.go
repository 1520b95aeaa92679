package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/messages"
	"troupe/messages/coord"
)

// Cluster gives access to the nodes of a cluster. It is safe for concurrent use.
type Cluster interface {
	Name() string         // name of this node
	Local() messages.Doer // answers for this node alone
	Self() Node           // this node, without what the console counts
	Nodes() []Node        // all nodes that this node knows, itself included, by name
	GameURLs() []string   // addresses at which the other nodes that run accept players' browsers, by name of the node
	// Ask passes a request of the API on to another node. The error says that the node does not answer.
	Ask(ctx context.Context, node string, q coord.AskConsole) (coord.ConsoleAnswer, error)
	// Forget declares a node lost that is not registered. Only the leader may do so.
	Forget(ctx context.Context, node string) error
}

// Node is a node of the cluster.
type Node struct {
	Name         string     `json:"name"`
	State        string     `json:"state"` // live, adrift, suspect or lost, as this node sees it
	Why          string     `json:"why"`   // why it is not live, or what else is wrong; empty if nothing is
	Since        *time.Time `json:"since"` // when this node learned the state
	Leads        bool       `json:"leads"`
	Draining     bool       `json:"draining"`
	Version      string     `json:"version"`
	Address      string     `json:"address"` // host and port for the other nodes
	Locations    []string   `json:"locations"`
	GameSessions int        `json:"gameSessions"`
	Players      int        `json:"players"`
	Room         int        `json:"room"`       // number of game sessions that can start now, added up over fleets and locations; 0 if it drains or is not live
	LagSeconds   *float64   `json:"lagSeconds"` // how late its watch of etcd was last; null if unknown
}

const (
	// askMax is how long the console waits for each other node.
	askMax = time.Second
	// askPlayersMax is askMax for the players of all game sessions. It is longer than answerMax, because the other
	// node waits that long for a game session that does not respond.
	askPlayersMax = 3 * time.Second
)

// local answers for this host alone.
func (c *Console) local() messages.Doer {
	if c.o.Cluster == nil {
		return c.o.Backend
	}
	return c.o.Cluster.Local()
}

// nodeName returns the name of this node, or "" without a cluster.
func (c *Console) nodeName() string {
	if c.o.Cluster == nil {
		return ""
	}
	return c.o.Cluster.Name()
}

// suspectMax is how long a suspect node is named as silent. Only the leader learns that the node is lost.
const suspectMax = time.Minute

// others returns the names of the other nodes: those that accept calls, and those that do not answer but may come back
// with their game sessions.
func (c *Console) others() (names, suspect []string) {
	if c.o.Cluster == nil {
		return nil, nil
	}
	for _, n := range c.o.Cluster.Nodes() {
		switch {
		case n.Name == c.nodeName():
		case n.State == "live" || n.State == "adrift":
			names = append(names, n.Name)
		case n.State == "suspect" && time.Since(timeIn(n.Since)) < suspectMax:
			suspect = append(suspect, n.Name)
		}
	}
	return names, suspect
}

// silentNodes returns the names of the suspect nodes and of some more nodes that did not answer. It never returns nil.
func (c *Console) silentNodes(more []string) []string {
	_, suspect := c.others()
	all := append(append([]string{}, suspect...), more...)
	slices.Sort(all)
	return slices.Compact(all)
}

var errNoCluster = &problem{status: http.StatusNotFound, code: "NoCluster", message: "this host has no cluster"}

// elsewhere passes a request on if it is for another node. It reports whether it has done so.
func (c *Console) elsewhere(w http.ResponseWriter, r *http.Request, q query) (done bool, p *problem) {
	node := q.text("node")
	switch {
	case node == "" || node == c.nodeName():
		return false, nil
	case c.o.Cluster == nil:
		return true, errNoCluster
	}
	return true, c.passOn(w, r, q, node, false)
}

// passOn has another node answer a request. reported says that this node reports the action, not the other one.
func (c *Console) passOn(w http.ResponseWriter, r *http.Request, q query, node string, reported bool) *problem {
	a, p := c.ask(r.Context(), node, r.Method, strings.TrimPrefix(r.URL.Path, prefix), q, reported)
	if p != nil {
		return p
	}
	if a.Status >= http.StatusBadRequest {
		var said shownProblem
		if json.Unmarshal(a.Body, &said) == nil {
			return &problem{status: a.Status, code: said.Code, message: said.Message, node: cmp.Or(said.Node, node)}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.Status)
	_, _ = w.Write(a.Body)
	return nil
}

func (c *Console) ask(ctx context.Context, node, method, path string, q query, reported bool) (coord.ConsoleAnswer, *problem) {
	values := url.Values(http.Header(q.values).Clone())
	if values == nil {
		values = url.Values{}
	}
	values.Set("node", node)
	a, err := c.o.Cluster.Ask(ctx, node, coord.AskConsole{
		Method: method, Path: path, Query: values.Encode(), By: q.who.name, Acts: q.who.role >= Operator, Reported: reported,
	})
	if err != nil {
		return a, refused(err)
	}
	return a, nil
}

// Answer answers a request that another node passes on. That node has checked who its caller is.
func (c *Console) Answer(ctx context.Context, q coord.AskConsole) coord.ConsoleAnswer {
	a := &answered{header: http.Header{}, status: http.StatusOK}
	r := (&http.Request{Method: q.Method, URL: &url.URL{Path: prefix + q.Path, RawQuery: q.Query}, Header: http.Header{}, RemoteAddr: "another node"}).WithContext(ctx)
	who := caller{name: q.By, role: Reader, reported: q.Reported}
	if q.Acts {
		who.role = Operator
	}
	to, p := c.routeOf(r, a)
	if p == nil && !to.node {
		p = &problem{status: http.StatusNotFound, code: "UnknownPath", message: "another node cannot ask for " + prefix + clip(q.Path)}
	}
	if p == nil {
		p = c.handle(a, r, to, who)
	}
	if p != nil {
		c.write(a, p)
	}
	return coord.ConsoleAnswer{Status: a.status, Body: a.body.Bytes()}
}

// answered is an answer in memory.
type answered struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answered) Header() http.Header         { return a.header }
func (a *answered) WriteHeader(status int)      { a.status = status }
func (a *answered) Write(b []byte) (int, error) { return a.body.Write(b) }

// askOthers asks the other nodes for a path at the same time. The answer of one that does not answer is nil.
func (c *Console) askOthers(ctx context.Context, method, path string, q query) (names []string, answers []*coord.ConsoleAnswer) {
	most := askMax
	if path == "top" || path == "connections" {
		most = askPlayersMax
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	names, _ = c.others()
	answers = make([]*coord.ConsoleAnswer, len(names))
	var asked sync.WaitGroup
	for i, name := range names {
		asked.Go(func() {
			if a, p := c.ask(ctx, name, method, path, q, true); p == nil {
				answers[i] = &a
			}
		})
	}
	asked.Wait()
	return names, answers
}

// gather asks the other nodes for a path at the same time, and decodes their answers. silent are the names of those
// that do not answer, suspect ones included.
func gather[T any](ctx context.Context, c *Console, method, path string, q query) (all []T, silent []string) {
	names, answers := c.askOthers(ctx, method, path, q)
	for i, a := range answers {
		var one T
		if a == nil || a.Status != http.StatusOK || json.Unmarshal(a.Body, &one) != nil {
			silent = append(silent, names[i])
			continue
		}
		all = append(all, one)
	}
	return all, c.silentNodes(silent)
}

// node describes this node.
func (c *Console) node(w http.ResponseWriter, r *http.Request, _ query) *problem {
	if c.o.Cluster == nil {
		return errNoCluster
	}
	n, p := c.thisNode(r.Context())
	if p != nil {
		return p
	}
	return answer(w, n)
}

func (c *Console) thisNode(ctx context.Context) (Node, *problem) {
	n := c.o.Cluster.Self()
	rooms, err := messages.Do(ctx, c.local(), messages.FleetRoomQuery{})
	if err != nil {
		return n, refused(err)
	}
	n.GameSessions, n.Players, n.Room = 0, int(c.o.Counters.Players.Total()), 0
	for _, r := range rooms {
		n.GameSessions, n.Room = n.GameSessions+r.GameSessions, n.Room+r.Free
	}
	return n, nil
}

// nodes lists the nodes of the cluster. A node that does not answer is shown with what it has reported last.
func (c *Console) nodes(w http.ResponseWriter, r *http.Request, q query) *problem {
	all := []Node{}
	if c.o.Cluster == nil {
		return answer(w, map[string][]Node{"nodes": all})
	}
	own, p := c.thisNode(r.Context())
	if p != nil {
		return p
	}
	answers, silent := gather[Node](r.Context(), c, http.MethodGet, "node", q)
	answers = append(answers, own)
	for _, n := range c.o.Cluster.Nodes() {
		if slices.Contains(silent, n.Name) {
			n.Why = cmp.Or(n.Why, "it does not answer node "+c.nodeName())
		}
		if i := slices.IndexFunc(answers, func(a Node) bool { return a.Name == n.Name }); i >= 0 {
			a := &answers[i]
			n.GameSessions, n.Players, n.Room, n.LagSeconds = a.GameSessions, a.Players, a.Room, a.LagSeconds
			n.Draining, n.Why = n.Draining || a.Draining, cmp.Or(a.Why, n.Why)
		}
		if n.Draining || n.State != "live" {
			n.Room = 0
		}
		all = append(all, n)
	}
	return answer(w, map[string][]Node{"nodes": all})
}

// forget declares a node lost. The leader does it.
func (c *Console) forget(w http.ResponseWriter, r *http.Request, q query) *problem {
	if c.o.Cluster == nil {
		return errNoCluster
	}
	leader := ""
	for _, n := range c.o.Cluster.Nodes() {
		if n.Leads {
			leader = n.Name
		}
	}
	switch {
	case leader == "":
		return &problem{status: http.StatusServiceUnavailable, code: "Unavailable", message: "no node of the cluster leads at the moment: try again"}
	case leader != c.nodeName() && q.text("node") == "":
		return c.passOn(w, r, q, leader, true)
	}
	ctx, cancel := context.WithTimeout(r.Context(), forgetMax)
	defer cancel()
	if err := c.o.Cluster.Forget(ctx, q.text("id")); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = messages.Errorf(messages.Unavailable, "the game sessions of node %s are not ended yet: etcd may be away", q.text("id"))
		}
		return refused(err)
	}
	return answer(w, struct{}{})
}

const forgetMax = 20 * time.Second // maximum time until a node is reaped
