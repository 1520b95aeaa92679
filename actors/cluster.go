package actors

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/messages"
	"troupe/messages/coord"
)

// Members provides a Cluster with information about the other nodes. Any goroutine may call its methods.
type Members interface {
	// Others returns the other nodes that accept calls.
	Others() []coord.Node
	// Names returns the names of the nodes in Others and of this node.
	Names() []string
	// Leader returns the node that leads. If there is none, it waits for one until ctx is done. It returns an error if
	// there will be none. self says that this node leads.
	Leader(ctx context.Context) (leader coord.Node, self bool, err error)
	// Leased reports whether this node leads and is certainly the only one. It returns false if the coordinator has not
	// answered for some seconds.
	Leased() bool
	// WithRoom returns the nodes with room for a game session of a fleet in a location, in the order in which to try
	// them. A node with an empty name is this node.
	WithRoom(f messages.FleetID, location string) []coord.Node
	// Owner returns the node that runs a game session. It uses a cached answer unless fresh is true, in which case it
	// asks the coordinator. found is false if no node runs the game session. self says that this node runs it.
	Owner(ctx context.Context, id messages.GameSessionID, fresh bool) (owner coord.Node, self, found bool, err error)
	// Ended returns what the coordinator keeps of a game session that has ended, and the fingerprint of the request that
	// created it with a token. EndText is empty if the game session was not lost with its host. The record is nil if
	// there is none.
	Ended(ctx context.Context, id messages.GameSessionID) (*messages.GameSession, [32]byte, error)
	// Placement reads the record of a placement from the coordinator. It returns nil if there is none.
	Placement(ctx context.Context, id messages.PlacementID) (*messages.Placement, error)
	// Synced returns when this node's copy of the catalog contains all changes that were answered before the call.
	Synced(ctx context.Context) error
}

// Caller sends requests to other nodes and returns their answers (see cluster.Peers).
type Caller interface {
	Call(ctx context.Context, to coord.Node, q messages.Request) (any, error)
}

// Cluster answers requests on behalf of all nodes. Depending on the request, this node, the request's owner or all
// nodes answer. Any goroutine may call its methods.
type Cluster struct {
	local   *System
	members Members
	peers   Caller
	ctx     context.Context // cancelled when the System closes
	cancel  context.CancelFunc
	closing sync.RWMutex   // held while work begins, and while ctx is cancelled
	work    sync.WaitGroup // counts the goroutines of Send and rooms
	asking  atomic.Int32   // number of requests to the leader that are not answered
	rooms   rooms
	ids     []byte // key of the ids that are made from calls
}

func newCluster(local *System, o *ClusterOptions) *Cluster {
	c := &Cluster{local: local, members: o.Members, peers: o.Peers, ids: o.IDs}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.rooms.polled = make(map[string]bool)
	c.rooms.seen = make(map[string]uint64)
	return c
}

func (c *Cluster) close() {
	c.closing.Lock() // no further work begins
	c.cancel()
	c.closing.Unlock()
	c.work.Wait()
}

const (
	syncMax    = 2 * time.Second        // maximum time that the answer to a change of the catalog waits for this node's copy
	silentMax  = time.Second            // maximum time that lists wait for each node
	searchMax  = 500 * time.Millisecond // maximum time that searches wait for each node
	createsMax = 4                      // maximum number of nodes that are tried for a new game session
	decideMax  = 10 * time.Second       // maximum time for the leader's decision, which etcd makes durable
	askingMax  = 1000                   // maximum number of requests to the leader that wait until its successor leads
	hopsMax    = 3                      // maximum number of nodes that are asked in turn for a game session

	leaderlessMax = time.Second // maximum time that the query of a placement waits for the leader

	leaderEvery = 200 * time.Millisecond // interval at which a request asks again who leads
)

// Do implements messages.Doer.
func (c *Cluster) Do(ctx context.Context, q messages.Request) (any, error) {
	if messages.ReplayKey(ctx) == "" && ForLeader(q) { // a key for the attempts that askLeader makes at several leaders
		ctx = messages.WithReplayKey(ctx, rand.Text())
	}
	q = messages.WithID(q, c.callID(ctx))
	switch q := q.(type) {
	case messages.CreateGameSession:
		return c.create(ctx, q.FleetID, q.AliasID, q.Location, q)
	case messages.Launch:
		return c.create(ctx, q.Request.FleetID, q.Request.AliasID, q.Request.Location, q)
	case messages.AwaitRoom:
		return c.awaitRoom(ctx, q.Since)
	case messages.PlacementQuery:
		return c.placement(ctx, q)
	}
	switch q.Route() {
	case messages.RouteThisHost:
		return c.local.Do(ctx, q)
	case messages.RouteEveryHost:
		return c.spread(ctx, q)
	case messages.RouteGameSession:
		return c.toOwner(ctx, q)
	case messages.RouteCatalog:
		if !changesCatalog(q) {
			return c.read(ctx, q)
		}
		answer, err := c.toLeader(ctx, q)
		if err == nil {
			c.sync(ctx)
		}
		return answer, err
	}
	return c.toLeader(ctx, q)
}

// Send implements messages.Sender.
func (c *Cluster) Send(q messages.Request, reply func(any, error)) {
	c.closing.RLock()
	open := c.ctx.Err() == nil
	if open {
		c.work.Go(func() { reply(c.Do(c.ctx, q)) })
	}
	c.closing.RUnlock()
	if !open {
		reply(nil, messages.Errorf(messages.Unavailable, "the host is shutting down"))
	}
}

// read answers a query from this node's copy of the catalog. If the copy does not contain the resource, the resource
// may have been created a moment ago, so read waits for the copy to catch up and tries again.
func (c *Cluster) read(ctx context.Context, q messages.Request) (any, error) {
	answer, err := c.local.Do(ctx, q)
	if !isCode(err, messages.NotFound) && !lacks(q, answer) {
		return answer, err
	}
	if err := c.members.Synced(ctx); err != nil { // another node may have created it
		return nil, messages.Errorf(messages.Internal, "%v", err)
	}
	return c.local.Do(ctx, q)
}

// lacks reports whether the answer to a FleetQuery does not have all requested fleets.
func lacks(q messages.Request, answer any) bool {
	fleets, _ := answer.([]*messages.Fleet)
	f, _ := q.(messages.FleetQuery)
	return slices.ContainsFunc(f.With, func(id messages.FleetID) bool {
		return !slices.ContainsFunc(fleets, func(o *messages.Fleet) bool { return o.ID == id })
	})
}

// sync waits until this node's copy contains the change that the caller has just made.
func (c *Cluster) sync(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, syncMax)
	defer cancel()
	_ = c.members.Synced(ctx) // an error is ignored, because the change itself has been answered
}

func (c *Cluster) toLeader(ctx context.Context, q messages.Request) (any, error) {
	limit := decideMax
	if u, is := q.(messages.UpdateScript); is {
		limit += max(u.Wait, catalog.UpdateWait)
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	answer, err := c.askLeader(within, q)
	if err != nil && within.Err() != nil && ctx.Err() == nil {
		return nil, messages.Errorf(messages.Internal, "the leader of the cluster does not answer within %v: etcd may be away", limit)
	}
	return answer, err
}

// placement asks the leader, which has all placements in memory. If there is none for leaderlessMax, the record at the
// coordinator is the answer.
func (c *Cluster) placement(ctx context.Context, q messages.PlacementQuery) (any, error) {
	within, cancel := context.WithTimeout(ctx, leaderlessMax)
	defer cancel()
	answer, err := c.askLeader(within, q)
	if err == nil || within.Err() == nil && !isCode(err, messages.Internal) {
		return answer, err
	}
	switch p, silent := c.members.Placement(ctx, q.ID); {
	case silent != nil:
		return nil, messages.Errorf(messages.Internal, "no node of the cluster leads at the moment, and etcd does not answer: %v", silent)
	case p == nil:
		return nil, messages.Errorf(messages.NotFound, "placement %s is not known here", q.ID)
	default:
		return p, nil
	}
}

// askLeader asks the leader. If the process of the leader has gone, its registration remains for some seconds. If the
// leader has resigned, this node may not know it yet. The leader itself does not answer everything while it is not Leased.
// In all these cases askLeader waits until another node leads, or ctx ends.
func (c *Cluster) askLeader(ctx context.Context, q messages.Request) (any, error) {
	c.asking.Add(1)
	defer c.asking.Add(-1)
	for {
		leader, self, err := c.members.Leader(ctx)
		if err != nil {
			return nil, messages.Errorf(messages.Internal, "no node of the cluster leads at the moment: %v", err)
		}
		var answer any
		if self {
			answer, err = c.local.Do(ctx, q)
		} else {
			answer, err = c.call(ctx, leader, q)
		}
		if !errors.Is(err, coord.ErrRefused) && !isCode(err, messages.Unavailable) || c.asking.Load() > askingMax {
			return answer, err
		}
		select {
		case <-time.After(leaderEvery):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// call sends a request to another node and returns the answer. If the connection breaks before the answer of a change
// arrives, call sends the request once more; a node that has received it twice answers it once (see System.once).
func (c *Cluster) call(ctx context.Context, to coord.Node, q messages.Request) (any, error) {
	answer, err := c.peers.Call(ctx, to, q)
	if _, is := attemptOf(ctx, q); is && errors.Is(err, coord.ErrUnknown) {
		answer, err = c.peers.Call(ctx, to, q)
	}
	var refusal *messages.Error
	switch {
	case err == nil:
		return answer, nil
	case errors.As(err, &refusal) && refusal.Code == messages.Unavailable: // callers of the service API do not know this code
		return nil, noAnswer{messages.Errorf(messages.Internal, "node %s: %s", to.Name, refusal.Text), err}
	case refusal != nil:
		return answer, &messages.FromNode{Node: to.Name, Refusal: refusal}
	case ctx.Err() != nil:
		return nil, err
	}
	return nil, noAnswer{messages.Errorf(messages.Internal, "node %s does not answer", to.Name), err}
}

// noAnswer is the refusal of a request that another node has not answered, with the reason.
type noAnswer struct {
	refusal *messages.Error
	reason  error
}

func (e noAnswer) Error() string { return e.refusal.Text + ": " + e.reason.Error() }

func (e noAnswer) Unwrap() []error { return []error{e.refusal, e.reason} }

func isCode(err error, code messages.ErrorCode) bool {
	return errors.Is(err, &messages.Error{Code: code})
}

// ForLeader reports whether a request is answered by the leader's actors.
func ForLeader(q messages.Request) bool {
	return q.Route() == messages.RoutePlacements || q.Route() == messages.RouteMatchmaking || changesCatalog(q)
}

// needsLease reports whether only a leader that is Leased may answer a request. Its successor may have changed what the
// request asks for, and that must not be taken back.
func needsLease(q messages.Request) bool {
	switch q.(type) {
	case messages.PlacementQuery, messages.TicketQuery:
		return true
	}
	return false
}

// changesCatalog reports whether a request must go to the leader's catalog. Queries do not, because each node has a
// copy.
func changesCatalog(q messages.Request) bool {
	switch q.(type) {
	case messages.ScriptQuery, messages.FleetQuery, messages.FleetEventQuery, messages.CheckDestinations, messages.AliasQuery, messages.LocationQuery,
		messages.ComputeQuery, messages.BuildQuery,
		messages.TagQuery, messages.CreateGameSession, messages.Launch:
		return false
	case catalog.NewScript, catalog.ChangeScript:
		return true
	}
	return q.Route() == messages.RouteCatalog
}

// create starts a game session on a node that has room. If a node refuses because it has no room, the next one is
// tried.
func (c *Cluster) create(ctx context.Context, id messages.FleetID, alias messages.AliasID, location string, q messages.Request) (any, error) {
	f, err := c.fleet(ctx, id, alias)
	if err != nil {
		return nil, err
	}
	if location == "" {
		location = f.Locations[0]
	}
	create, byCaller := q.(messages.CreateGameSession) // a placement sends another request, which is not charged
	if !byCaller {
		return c.tryCreate(ctx, f.ID, location, q)
	}
	made := c.local.registry.SessionID(f, location, cmp.Or(create.IdempotencyToken, create.Tail))
	if create.IdempotencyToken != "" {
		if answer, there, err := c.created(ctx, made, create); there {
			return answer, err
		}
	}
	charge := messages.ChargeCreator{FleetID: f.ID, CreatorID: create.CreatorID, For: string(coord.TagOf(made))}
	charged := create.CreatorID != "" || f.CreatorLimit != nil
	if charged {
		if _, err := c.toLeader(ctx, charge); err != nil {
			return nil, err
		}
	}
	answer, err := c.tryCreate(ctx, f.ID, location, create)
	if isCode(err, messages.FleetCapacityExceeded) || isCode(err, messages.Internal) || isCode(err, messages.Conflict) { // another attempt may have created it
		_, _, found, _ := c.members.Owner(ctx, made, true)
		if found || isCode(err, messages.Conflict) {
			if other, there, otherErr := c.created(ctx, made, create); there {
				return other, otherErr
			}
		}
	}
	if charged && refused(err) {
		refund, cancel := context.WithTimeout(c.ctx, decideMax) // c.ctx, because the caller may have disconnected
		defer cancel()
		charge.Refund = true
		_, _ = c.toLeader(refund, charge)
	}
	return answer, err
}

// refused reports whether an error says for certain that nothing was created.
func refused(err error) bool {
	var refusal *messages.Error
	return errors.As(err, &refusal) && !errors.Is(err, coord.ErrUnknown) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// created finds the node that has the game session of a token. That node answers the request. there is false if no node
// has such a game session.
func (c *Cluster) created(ctx context.Context, id messages.GameSessionID, q messages.CreateGameSession) (answer any, there bool, err error) {
	owner, self, found, err := c.members.Owner(ctx, id, true)
	switch {
	case err != nil:
		return nil, true, messages.Errorf(messages.Internal, "%v", err)
	case self:
		answer, err = c.local.Do(ctx, q)
		return answer, true, err
	case found:
		answer, err = c.call(ctx, owner, q)
		return answer, true, err
	}
	g, fingerprint, err := c.members.Ended(ctx, id)
	if err != nil {
		return nil, true, messages.Errorf(messages.Internal, "%v", err)
	}
	if g == nil || g.EndText == "" { // a node may have a more complete record
		if answer, there, err := c.createdBy(ctx, id, q); there {
			return answer, true, err
		}
	}
	switch {
	case g == nil:
		return nil, false, nil
	case fingerprint != fleet.Fingerprint(&q):
		return nil, true, messages.Errorf(messages.IdempotentMismatch, "idempotency token %s was used with other parameters", q.IdempotencyToken)
	}
	return g, true, nil
}

// createdBy looks for a node that has the record of an ended game session. That node answers the request. there is true
// also if a node does not answer.
func (c *Cluster) createdBy(ctx context.Context, id messages.GameSessionID, q messages.CreateGameSession) (answer any, there bool, err error) {
	ended := messages.GameSessionQuery{ID: id}
	if _, err = c.local.Do(ctx, ended); err == nil {
		answer, err = c.local.Do(ctx, q)
		return answer, true, err
	}
	others := c.members.Others()
	for i, a := range c.askThese(ctx, others, ended, silentMax) {
		if a.err == nil {
			answer, err = c.call(ctx, others[i], q)
			return answer, true, err
		}
		if a.silent { // the node may have a game session that has ended
			err = a.err
		}
	}
	return nil, !isCode(err, messages.NotFound), err
}

func (c *Cluster) tryCreate(ctx context.Context, f messages.FleetID, location string, q messages.Request) (answer any, err error) {
	nodes := c.members.WithRoom(f, location)
	if len(nodes) == 0 { // this node's refusal says why
		return c.local.Do(ctx, q)
	}
	for _, n := range nodes[:min(createsMax, len(nodes))] {
		if n.Name == "" {
			answer, err = c.local.Do(ctx, q)
		} else {
			answer, err = c.call(ctx, n, q)
		}
		full := isCode(err, messages.FleetCapacityExceeded) || isCode(err, messages.Unavailable)
		if !full && !errors.Is(err, coord.ErrRefused) && !errors.Is(err, coord.ErrUnavailable) {
			return answer, err // the loop continues only if the node has certainly not created the game session
		}
	}
	return answer, err
}

// fleet returns the fleet given by id or alias.
func (c *Cluster) fleet(ctx context.Context, id messages.FleetID, alias messages.AliasID) (*messages.Fleet, error) {
	if alias != "" {
		answer, err := c.read(ctx, messages.AliasQuery{ID: alias})
		if err != nil {
			return nil, err
		}
		a := answer.([]*messages.Alias)[0]
		if a.FleetID == "" {
			return nil, messages.Errorf(messages.TerminalRouting, "%s", a.Message)
		}
		id = a.FleetID
	}
	answer, err := c.read(ctx, messages.FleetQuery{With: []messages.FleetID{id}})
	if err != nil {
		return nil, err
	}
	all := answer.([]*messages.Fleet)
	if i := slices.IndexFunc(all, func(f *messages.Fleet) bool { return f.ID == id }); i >= 0 {
		return all[i], nil
	}
	return nil, messages.Errorf(messages.NotFound, "fleet %s is not known here", id)
}

// toOwner returns the answer of the node that owns the request's game session.
func (c *Cluster) toOwner(ctx context.Context, q messages.Request) (any, error) {
	answer, unknown := c.local.Do(ctx, q)
	if !isCode(unknown, messages.NotFound) {
		return answer, unknown
	}
	id := gameSessionOf(q)
	absent := false // the directory had no record a moment ago
	for hop := range hopsMax - 1 {
		owner, self, found, err := c.members.Owner(ctx, id, hop > 0)
		switch {
		case err != nil && hop == 0: // the owner that is remembered may be lost
			continue
		case err != nil && absent: // see ended
			return nil, messages.Errorf(messages.Internal, "game session %s: %v", id, err)
		case err != nil:
			return c.askAll(ctx, q, unknown, err)
		case !found && hop == 0: // the cache may be out of date, so ask the coordinator
			absent = true
			continue
		case !found:
			return c.ended(ctx, id, q, unknown)
		case self:
			return nil, unknown
		}
		if answer, err = c.call(ctx, owner, q); !isCode(err, messages.NotFound) {
			return answer, err
		}
	}
	return c.ended(ctx, id, q, unknown)
}

// ended answers a request for a game session that no node runs.
func (c *Cluster) ended(ctx context.Context, id messages.GameSessionID, q messages.Request, unknown error) (any, error) {
	g, _, err := c.members.Ended(ctx, id)
	if err != nil { // a node that was taken for lost may not know yet that its game sessions have ended, so it is not asked
		return nil, messages.Errorf(messages.Internal, "game session %s: %v", id, err)
	}
	if g == nil || g.EndText == "" { // a node may have a more complete record
		answer, err := c.askAll(ctx, q, unknown, nil)
		if g == nil || !isCode(err, messages.NotFound) {
			return answer, err
		}
	}
	switch q := q.(type) {
	case messages.GameSessionQuery:
		return g, nil
	case messages.TerminateGameSession:
		return g, nil
	case messages.PlayerSessionQuery:
		return []*messages.PlayerSession{}, nil
	case messages.AwaitActivation:
		return messages.Activation{Text: cmp.Or(g.EndText, "the game session has ended")}, nil
	case messages.AwaitSeats, messages.GiveUp:
		return nil, unknown
	default:
		_ = q
		return nil, messages.Errorf(messages.InvalidGameSessionStatus, "game session %s is %s", id, g.Status)
	}
}

// askAll asks all nodes for a game session that has ended, because each node keeps its own ended game sessions. If a
// node does not answer, the result is unknown and askAll returns an error.
func (c *Cluster) askAll(ctx context.Context, q messages.Request, unknown, why error) (any, error) {
	answers := c.ask(ctx, q, silentMax)
	for _, a := range answers {
		switch {
		case isCode(a.err, messages.NotFound):
		case a.silent:
			why = a.err
		default:
			return a.answer, a.err
		}
	}
	if why != nil {
		return nil, messages.Errorf(messages.Internal, "game session %s: %v", gameSessionOf(q), why)
	}
	return nil, unknown
}

// gameSessionOf returns the id of the game session to which a request refers.
func gameSessionOf(q messages.Request) messages.GameSessionID {
	switch q := q.(type) {
	case messages.UpdateGameSession:
		return q.ID
	case messages.CreatePlayerSessions:
		return q.GameSessionID
	case messages.TerminateGameSession:
		return q.GameSessionID
	case messages.GameSessionQuery:
		return q.ID
	case messages.PlayerSessionQuery:
		return q.GameSessionID
	case messages.AwaitActivation:
		return q.ID
	case messages.GiveUp:
		return q.ID
	case messages.AwaitSeats:
		return q.ID
	case messages.FillGameSession:
		return q.Session
	case messages.InspectGameSession:
		return q.ID
	case messages.KickPlayer:
		return q.GameSession
	}
	return ""
}
