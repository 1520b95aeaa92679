package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/actors/cluster"
	"troupe/actors/fleet/catalog"
	"troupe/actors/player"
	"troupe/actors/store"
	"troupe/actors/store/shared"
	"troupe/messages"
	"troupe/messages/coord"
	"troupe/messages/counters"
	"troupe/transport/etcd"
	"troupe/transport/peers"
)

// clusterNode makes this host a node of its cluster. It implements actors.Members.
type clusterNode struct {
	host        *Host
	log         zerolog.Logger
	config      Cluster
	keys        coord.Keys
	name        string
	coordinator cluster.Coordinator
	etcd        *etcd.Client // nil if another coordinator is used
	listener    net.Listener
	client      *peers.Client
	server      *peers.Server
	self        *cluster.Node
	directory   *cluster.Directory
	follower    *shared.Follower
	ids         []byte // key of the ids that are made from calls
	incarnation atomic.Int64
	term        atomic.Pointer[shared.Store] // store of this node's term; nil if the node does not lead
	began       signal                       // a term of this node has begun
	replicated  signal                       // the System's copy of the catalog has changed
	ctx         context.Context              // ends with the host
	cancel      context.CancelFunc
	work        sync.WaitGroup
	ready       chan struct{} // closed once the host has a System
	alternates  player.Alternates
	formerBans  []messages.Ban               // bans of the time when this host was alone
	banned      map[string]messages.PlayerID // players whose bans are records of the cluster, by the ids of the records; only replicate uses it
}

const (
	peerProtocol = 1 // version of the requests between nodes
	nodeSchema   = 1 // version of the records
	loadEvery    = time.Second
	openAgain    = 50 * time.Millisecond // pause before a term's records are read again; the request has already waited for its timeout
	termMax      = 8 * time.Second       // maximum time that a call waits until the leader has begun its term
	syncedMax    = time.Minute           // maximum time that a start waits for etcd, and for the resources of the cluster

	clusterSecret = "cluster" // name of the store's secret that holds the id of its cluster
	logsSecret    = "logs"    // name of the secret on the coordinator that signs the URLs of logs
	leaseSecret   = "lease"   // name of the store's secret that holds the lease of its node
	pagesSecret   = "pages"   // names of the secrets on the coordinator that all nodes share
	idsSecret     = "ids"
)

// join makes the host a node of its cluster. It is called before the actors are started.
func (h *Host) join(o Options) (err error) {
	c := o.Config.Cluster
	if c.Name == "" {
		return nil
	}
	n := &clusterNode{host: h, log: o.Log, config: c, keys: coord.KeysOf(c.Name), name: c.Node, ready: make(chan struct{})}
	if n.name == "" {
		if n.name, err = os.Hostname(); err != nil {
			return fmt.Errorf("host: cluster.node: %w", err)
		}
		n.name, _, _ = strings.Cut(n.name, ".")
	}
	if err := coord.CheckName("node", n.name); err != nil {
		return fmt.Errorf("host: cluster.node: %w", err)
	}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	h.node = n
	n.takeBans()
	if n.coordinator = o.Coordinator; n.coordinator == nil {
		if n.etcd, err = c.Etcd.open(n.ctx); err != nil {
			return fmt.Errorf("host: cluster.etcd: %w", err)
		}
		n.coordinator = n.etcd
	}
	n.coordinator = cluster.Counted(n.coordinator, h.count, o.Log)
	if n.listener, err = o.listen(c.Peers.Addr); err != nil {
		return fmt.Errorf("host: cluster.peers.addr: %w", err)
	}
	wire := peers.Options{Node: n.name, Network: o.Network, Count: h.count, Log: o.Log}
	if c.Peers.CA != "" {
		if wire.Certs, err = peers.LoadCerts(c.Name, n.name, peers.Files{CA: c.Peers.CA, Cert: c.Peers.Cert, Key: c.Peers.Key}, o.Log); err != nil {
			return fmt.Errorf("host: cluster.peers: %w: troupe admin cluster cert makes these files", err)
		}
	}
	n.client, n.server = peers.NewClient(wire), peers.NewServer(wire, n)
	address := cmp.Or(c.Peers.Advertise, n.listener.Addr().String())
	n.directory = cluster.NewDirectory(cluster.DirectoryOptions{
		Coordinator: n.coordinator, Keys: n.keys, Node: n.name, Peers: address, Incarnation: n.incarnation.Load, Count: h.count, Lost: n.lost,
	})
	n.follower = shared.NewFollower(n.coordinator, string(n.keys), n.replicate)
	id, lease, err := h.formerNode()
	if err != nil {
		return fmt.Errorf("host: cluster: %w", err)
	}
	n.self = cluster.New(cluster.Options{
		Coordinator: n.coordinator, Peers: n.client, Log: o.Log, Count: h.count, Cluster: c.Name, ClusterID: id, OldLease: lease,
		Self: coord.Node{
			Name: n.name, Peers: address, Locations: o.Config.Cluster.Locations, Version: o.Version, Protocol: coord.Range{Low: peerProtocol, High: peerProtocol},
			Schema: coord.Range{Low: nodeSchema, High: nodeSchema}, Generation: int64(c.Generation), Resources: o.Config.resourcesHash(),
		},
		Check: n.checkEtcd, Registered: n.registered, Lead: n.lead, Reap: n.reap,
	})
	n.work.Go(func() { h.served("peers", n.server.Serve(n.listener), o.OnFailure) })
	n.self.SetDraining(true) // until follow, the node gets no new work and does not lead
	if err := n.self.Start(n.ctx); err != nil {
		return fmt.Errorf("host: %w", err)
	}
	if n.ids, err = n.secret(idsSecret); err != nil {
		return fmt.Errorf("host: cluster: %w", err)
	}
	if id == "" {
		h.store.Commit([]store.Change{{Kind: store.Secret, ID: clusterSecret, Value: []byte(n.self.ClusterID())}}, nil)
	}
	if err := n.insist(n.directory.Clear); err != nil {
		return fmt.Errorf("host: cluster: the game sessions of the process before cannot be deleted from the directory: %w", err)
	}
	return nil
}

// insist calls f again for syncedMax, as long as etcd does not answer or this node registers anew.
func (n *clusterNode) insist(f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(n.ctx, syncedMax)
	defer cancel()
	return n.self.Insist(ctx, func(ctx context.Context) error {
		err := f(ctx)
		if errors.Is(err, cluster.ErrTaken) || errors.Is(err, shared.ErrNotWriter) {
			err = fmt.Errorf("%w: %w", coord.ErrUnavailable, err)
		}
		return err
	})
}

// secret returns the random bytes that all nodes share for a use.
func (n *clusterNode) secret(use string) (secret []byte, err error) {
	err = n.insist(func(ctx context.Context) error {
		secret, err = cluster.Secret(ctx, n.coordinator, n.keys, use)
		return err
	})
	return secret, err
}

// formerNode returns what the store says of the process before: the id of its cluster, or "" if the store belongs to no
// cluster yet, and the lease of its last registration, or 0.
func (h *Host) formerNode() (id string, lease coord.Lease, err error) {
	_, err = h.store.Load(store.Secret, func(name string, value []byte) error {
		switch name {
		case clusterSecret:
			id = string(value)
		case leaseSecret:
			return json.Unmarshal(value, &lease)
		}
		return nil
	})
	return id, lease, err
}

// follow starts to follow the resources of the cluster. It returns when the System has the current resources.
func (h *Host) follow(Options) error {
	n := h.node
	if n == nil {
		return nil
	}
	n.work.Go(func() { n.follower.Run(n.ctx) })
	n.work.Go(n.watch)
	n.work.Go(n.report)
	ctx, cancel := context.WithTimeout(n.ctx, syncedMax)
	defer cancel()
	for n.follower.Synced(ctx) != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("host: cluster: etcd does not answer with the resources of the cluster within %v", syncedMax)
		}
	}
	if err := n.shareBans(); err != nil {
		return fmt.Errorf("host: cluster: the bans of this host's store cannot be given to the cluster: %w", err)
	}
	close(n.ready)
	n.self.SetDraining(false)
	n.work.Go(n.measureEtcd)
	return nil
}

// leave ends the node's term and its registration. Other nodes may still send it requests.
func (n *clusterNode) leave() {
	if n.self != nil {
		n.self.Close()
	}
}

// close ends everything that remains after the actors have stopped.
func (n *clusterNode) close() {
	n.cancel()
	if n.server != nil {
		n.server.Close()
	}
	n.work.Wait()
	if n.directory != nil {
		n.directory.Close()
	}
	if n.client != nil {
		n.client.Close()
	}
	if n.listener != nil { // the server closes the listener only if it has served
		n.listener.Close()
	}
	if n.etcd != nil {
		n.etcd.Close()
	}
}

// Do implements messages.Doer for the requests of other nodes.
func (n *clusterNode) Do(ctx context.Context, q messages.Request) (any, error) {
	switch q.(type) {
	case coord.Hello, coord.Reach, coord.Detour:
		return n.self.Do(ctx, q)
	}
	if answer, done, err := n.answer(ctx, q); done {
		return answer, err
	}
	select {
	case <-n.ready:
	default:
		return nil, messages.Errorf(messages.Unavailable, "node %s is starting", n.name)
	}
	if actors.ForLeader(q) {
		if err := n.awaitTerm(ctx); err != nil {
			return nil, err
		}
	}
	return n.host.system.Do(ctx, q)
}

// registered is called for each new incarnation of this node.
func (n *clusterNode) registered(incarnation int64, lease coord.Lease) {
	n.host.store.Commit([]store.Change{{Kind: store.Secret, ID: leaseSecret, Value: coord.Encode(lease)}}, nil)
	n.incarnation.Store(incarnation)
	n.server.SetIncarnation(incarnation)
	n.work.Go(func() { n.directory.Registered(n.ctx, incarnation) })
}

// lost ends a game session that the cluster has taken from this node.
func (n *clusterNode) lost(id messages.GameSessionID) {
	n.log.Warn().Str("game_session_id", string(id)).Msg("the cluster has taken this host for lost: a game session ends")
	n.host.system.Send(messages.TerminateGameSession{GameSessionID: id, Force: true}, func(any, error) {})
}

// lead runs a term of this node, until ctx ends or the term is over.
func (n *clusterNode) lead(ctx context.Context, term int64) {
	ctx, over := context.WithCancel(ctx)
	defer over()
	records, err := n.open(ctx, term, over)
	if err != nil {
		return
	}
	defer records.End()
	defer context.AfterFunc(ctx, records.End)() // ends the store even while it is being read
	pending, err := undelivered(records)
	if err != nil && ctx.Err() == nil {
		n.log.Error().Err(err).Msg("undelivered events of the cluster cannot be read")
	}
	n.host.system.BeginTerm(records)
	n.term.Store(records)
	n.began.tell()
	for _, e := range pending {
		n.host.events.Post(e)
	}
	n.duties(ctx, term)
	n.term.Store(nil)
	n.host.system.EndTerm()
}

// open opens the store of a term. It retries as long as the coordinator does not answer.
func (n *clusterNode) open(ctx context.Context, term int64, over func()) (*shared.Store, error) {
	for {
		records, err := shared.Open(ctx, shared.Options{Coordinator: n.coordinator, Prefix: string(n.keys), Term: n.holds(term), OnOver: func() {
			n.host.count.Fenced.Add(counters.FenceTerm, 1)
			over()
		}})
		if err == nil || ctx.Err() != nil {
			return records, err
		}
		n.log.Warn().Err(err).Msg("the records of the cluster cannot be read yet")
		cluster.Sleep(ctx, openAgain)
	}
}

func (n *clusterNode) holds(term int64) coord.Condition {
	return coord.Incarnation(n.keys.Lead(), term)
}

// undelivered returns the events that the previous leader has not delivered.
func undelivered(records *shared.Store) (all []messages.Event, err error) {
	_, err = records.Load(store.Event, func(_ string, value []byte) error {
		var e messages.Event
		if json.Unmarshal(value, &e) == nil {
			all = append(all, e)
		}
		return nil
	})
	return all, err
}

func (n *clusterNode) reap(ctx context.Context, term int64, lost coord.Node) error {
	return n.directory.Reap(ctx, lost.Name, n.holds(term))
}

// replicate passes changes of the catalog to the System, and waits until they are applied.
func (n *clusterNode) replicate(changes []store.Change) {
	n.followBans(changes)
	applied := make(chan struct{})
	n.host.system.Replicate(changes, func() { close(applied) })
	select {
	case <-applied:
		n.replicated.tell()
	case <-n.ctx.Done():
	}
}

// watch tells the System when the nodes or the leader have changed.
func (n *clusterNode) watch() {
	var names []string
	var shares catalog.Shares
	var term int64
	for {
		v := n.self.View()
		n.tellAlternates(v)
		if now, of := n.Names(), n.shares(v); !slices.Equal(now, names) || !maps.Equal(of, shares) || v.Term != term {
			names, shares, term = now, of, v.Term
			n.host.system.MembersChanged(maps.Clone(shares))
		}
		select {
		case <-v.Replaced():
		case <-n.ctx.Done():
			return
		}
	}
}

// shares returns this node's Share of each of its locations, among the nodes that are Live or Adrift. A node without
// locations serves all, and "" stands for those that no node names.
func (n *clusterNode) shares(v *cluster.View) catalog.Shares {
	serves := func(node coord.Node, location string) bool {
		return len(node.Locations) == 0 || slices.Contains(node.Locations, location)
	}
	named := []string{""}
	for _, m := range v.Members {
		named = append(named, m.Locations...)
	}
	shares := make(catalog.Shares)
	for _, l := range named {
		var share catalog.Share
		if !serves(v.Self, l) {
			continue
		}
		for _, m := range v.Members {
			if m.State != cluster.Live && m.State != cluster.Adrift || !serves(m.Node, l) {
				continue
			}
			share.Of++
			if m.Name < n.name {
				share.Rank++
			}
		}
		share.Of = max(1, share.Of) // this node may be unregistered at the moment
		shares[l] = share
	}
	return shares
}

// report publishes the load of this node for the other nodes.
func (n *clusterNode) report() {
	tick := time.NewTicker(loadEvery)
	defer tick.Stop()
	for {
		if rooms, err := messages.Do(n.ctx, n.host.system, messages.FleetRoomQuery{}); err == nil {
			load := coord.Load{Players: int(n.host.count.Players.Total())}
			for _, r := range rooms {
				if n.host.count.StoreFailing.Load() != 0 {
					r.Free = 0 // new game sessions would be refused
				}
				load.Places = append(load.Places, coord.Place{Fleet: string(r.FleetID), Location: r.Location, Room: r.Free, Live: r.GameSessions})
			}
			n.self.SetLoad(load)
		}
		select {
		case <-tick.C:
		case <-n.ctx.Done():
			return
		}
	}
}

// Others implements actors.Members.
func (n *clusterNode) Others() (all []coord.Node) {
	for _, m := range n.self.View().Members {
		if (m.State == cluster.Live || m.State == cluster.Adrift) && m.Name != n.name {
			all = append(all, m.Node)
		}
	}
	return all
}

// Names implements actors.Members.
func (n *clusterNode) Names() []string {
	all := []string{n.name}
	for _, o := range n.Others() {
		all = append(all, o.Name)
	}
	slices.Sort(all)
	return all
}

// Leader implements actors.Members. This node is the leader once its term has begun.
func (n *clusterNode) Leader(ctx context.Context) (coord.Node, bool, error) {
	leader, _, self, err := n.self.Leader(ctx)
	if self {
		err = n.awaitTerm(ctx)
	}
	return leader, self, err
}

// awaitTerm waits until this node's term has begun. It returns an error if the node does not lead, or if the term does
// not begin in time.
func (n *clusterNode) awaitTerm(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, termMax)
	defer cancel()
	for {
		began, v := n.began.next(), n.self.View()
		switch {
		case n.term.Load() != nil:
			return nil
		case !v.Leads || ctx.Err() != nil:
			return messages.Errorf(messages.Unavailable, "node %s does not lead", n.name)
		}
		select {
		case <-began:
		case <-v.Replaced():
		case <-ctx.Done():
		}
	}
}

// Leased implements actors.Members.
func (n *clusterNode) Leased() bool { return n.self.View().Leads && n.self.Leased() }

// WithRoom implements actors.Members.
func (n *clusterNode) WithRoom(f messages.FleetID, location string) []coord.Node {
	all := n.self.View().WithRoom(f, location, rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
	for i := range all {
		if all[i].Name == n.name {
			all[i] = coord.Node{}
		}
	}
	return all
}

// Owner implements actors.Members.
func (n *clusterNode) Owner(ctx context.Context, id messages.GameSessionID, fresh bool) (owner coord.Node, self, found bool, err error) {
	name, err := n.directory.Owner(ctx, coord.TagOf(id), fresh)
	switch {
	case err != nil || name == "":
		return owner, false, false, err
	case name == n.name:
		return owner, true, true, nil
	}
	m := n.self.View().Member(name)
	if m == nil || m.State != cluster.Live && m.State != cluster.Adrift {
		return owner, false, false, fmt.Errorf("node %s, which runs it, does not answer", name)
	}
	return m.Node, false, true, nil
}

// Ended implements actors.Members.
func (n *clusterNode) Ended(ctx context.Context, id messages.GameSessionID) (*messages.GameSession, [32]byte, error) {
	g, err := n.directory.Gone(ctx, coord.TagOf(id))
	if err != nil || g == nil {
		return nil, [32]byte{}, err
	}
	var fingerprint [32]byte
	copy(fingerprint[:], g.Fingerprint)
	return cluster.Session(g), fingerprint, nil
}

// Placement implements actors.Members.
func (n *clusterNode) Placement(ctx context.Context, id messages.PlacementID) (*messages.Placement, error) {
	ctx, cancel := context.WithTimeout(ctx, termMax)
	defer cancel()
	value, err := shared.Record(ctx, n.coordinator, string(n.keys), store.Placement, string(id))
	if err != nil || value == nil {
		return nil, err
	}
	p := new(messages.Placement)
	return p, json.Unmarshal(value, p)
}

// Synced implements actors.Members.
func (n *clusterNode) Synced(ctx context.Context) error { return n.follower.Synced(ctx) }

// options returns the options that make the System a node of a cluster, or nil if there is no cluster.
func (n *clusterNode) options(generation int) *actors.ClusterOptions {
	if n == nil {
		return nil
	}
	return &actors.ClusterOptions{Node: n.name, Generation: int64(generation), Members: n, Peers: n.self, IDs: n.ids}
}

// Doer returns the Doer that answers the callers of the service API. Any goroutine may call it.
func (h *Host) Doer() messages.Doer {
	if c := h.system.Cluster(); c != nil {
		return c
	}
	return h.system
}

// term returns the store of this node's term, or nil if the host does not lead a cluster.
func (h *Host) term() *shared.Store {
	if h.node == nil {
		return nil
	}
	return h.node.term.Load()
}
