package actors

import (
	"time"

	"troupe/actors/fleet"
	"troupe/actors/fleet/catalog"
	"troupe/actors/matchmaker"
	"troupe/actors/placement"
	"troupe/actors/rebuild"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/replay"
)

// ClusterOptions make a System a node of a cluster. All fields except Generation are required.
type ClusterOptions struct {
	Node       string // name of this node
	Generation int64  // generation of the configured resources
	Members    Members
	Peers      Caller
	IDs        []byte // secret that all nodes share: key of the ids that are made from calls
}

// Limits of the ended placements and tickets that the coordinator keeps (docs/spec/cluster.md 3.1).
const (
	sharedEndedMax  = 50_000
	sharedEndedKeep = time.Hour // of placements; the time of tickets is the same as without a cluster
)

// startNode implements Start for a node of a cluster. The actors for queues, placements, matchmaking and the decisions
// on resources start only when a term begins.
func startNode(o Options) (*System, error) {
	var s *System
	resources := o.Fleet
	o.Fleet.Follow = &catalog.Follow{Node: o.Cluster.Node, Report: func(q messages.ReportFleets, reply func(error)) {
		s.cluster.Send(q, func(_ any, err error) { reply(err) })
	}}
	registry, err := fleet.New(o.Fleet)
	if err != nil {
		return nil, err
	}
	ReportDamaged(o.Log, o.Counters, registry.Damaged())
	s = newSystem(o, registry)
	s.cluster, s.replays = newCluster(s, o.Cluster), replay.New[attempt](time.Now)
	queues, tickets := o.Placement, o.Matchmaking
	queues.Region, queues.Store, queues.OnEvent = o.Fleet.Region, nil, o.Fleet.OnEvent
	queues.EndedMax, queues.EndedKeep, tickets.EndedMax = sharedEndedMax, sharedEndedKeep, sharedEndedMax
	tickets.Region, tickets.Store, tickets.OnEvent = o.Fleet.Region, nil, o.Fleet.OnEvent
	s.catalog = s.stage.NewRef(counters.ActorFleet, stage.LaneLimits{})
	s.stage.SpawnRoot(s.catalog, rebuild.New(rebuild.Options[*catalog.Leader]{
		What: "the resources of the cluster", Kind: counters.ActorFleet,
		Load: func(from store.Store) (*catalog.Leader, error) {
			return catalog.NewLeader(resources.Resources(from), o.Cluster.Generation, s.cluster.members.Names)
		},
		New: func(l *catalog.Leader, _ store.Store) stage.Actor { return l },
	}, nil))
	s.spawn(o, placement.New(queues, s.cluster, nil), matchmaker.New(tickets, placer{s.placements, s.cluster}, nil))
	return s, nil
}

// Cluster returns the Doer that answers for all nodes. It returns nil if the host is not part of a cluster.
func (s *System) Cluster() *Cluster { return s.cluster }

// BeginTerm says that this node has become the leader. It now decides on queues, placements, matchmaking and resources.
// records is the store to use for this term.
func (s *System) BeginTerm(records store.Store) {
	s.catalog.Tell(rebuild.Begin{Store: records})
	s.placements.Tell(rebuild.Begin{Store: records})
	s.matchmaking.Tell(rebuild.Begin{Store: records})
}

// EndTerm says that this node is no longer the leader. Changes that have not been stored by then are refused.
func (s *System) EndTerm() {
	s.matchmaking.Tell(rebuild.End{})
	s.placements.Tell(rebuild.End{})
	s.catalog.Tell(rebuild.End{})
}

// Replicate applies durable changes of the catalog. It must be called in the order of the changes. done is called once
// the changes are visible; it may be nil.
func (s *System) Replicate(changes []store.Change, done func()) {
	s.fleet.Tell(catalog.NewReplicated(changes, done))
}

// MembersChanged says that nodes have joined or left, or that another node leads. shares are this node's Shares of the
// locations that it serves.
func (s *System) MembersChanged(shares catalog.Shares) {
	s.fleet.Tell(shares)
	s.fleet.Tell(catalog.ReportAgain{})
	s.catalog.Tell(catalog.NodesChanged{})
	s.cluster.rooms.mu.Lock()
	defer s.cluster.rooms.mu.Unlock()
	s.cluster.rooms.tell()
}
