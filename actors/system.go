package actors

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/connection"
	"troupe/actors/fleet"
	"troupe/actors/matchmaker"
	"troupe/actors/placement"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
	"troupe/messages/replay"
)

// Options configure a System. They must not change.
type Options struct {
	Log      zerolog.Logger
	Counters *counters.Set
	// Shards is the number of workers. 0 means one worker per CPU that Go may use.
	Shards int
	// Flush says when output is flushed (see stage.FlushPolicy).
	Flush stage.FlushPolicy
	// Now returns the wall-clock time. Nil means time.Now.
	Now func() time.Time
	// Fleet configures the registry and all game sessions.
	Fleet fleet.Options
	// Placement configures queues and placements. Matchmaking configures rule sets, matchmaking configurations and
	// tickets. The fields Region, Store and OnEvent of both are taken from Fleet.
	Placement   placement.Options
	Matchmaking matchmaker.Options
	// Bundle limits the size of script archives.
	Bundle bundle.Limits
	// Timeouts are the time limits for silent connections.
	Timeouts connection.Timeouts
	// Cluster makes the host a node of a cluster. Nil means that the host is not part of a cluster.
	Cluster *ClusterOptions
	// OnFailure is called when an actor that cannot be replaced crashes. The process should then exit with an error.
	OnFailure func(reason string)
}

// System is the tree of actors of one host. Any goroutine may call its methods.
type System struct {
	stage       *stage.Stage
	count       *counters.Set
	fleet       *stage.Ref
	placements  *stage.Ref
	matchmaking *stage.Ref
	registry    *fleet.Registry // only for PlayerSession and Wait; everything else belongs to the registry's actor
	bundle      bundle.Limits
	unpacks     chan struct{}
	cluster     *Cluster                 // nil if the host is not part of a cluster
	replays     *replay.Answers[attempt] // answers to changes that this node has made; nil if the host is not part of a cluster
	catalog     *stage.Ref               // the cluster's catalog, which is active while this host leads; nil if the host is not part of a cluster
	connections *stage.Ref
	closed      atomic.Bool
	stopped     chan struct{}
}

// Start creates the tree of actors from the records in the store. Close ends it. Damaged records are logged, counted
// and skipped. Start returns an error if a configured queue has a destination that can never have existed (see
// checkQueues), or if the configuration of matchmaking is invalid.
func Start(o Options) (*System, error) {
	if o.Fleet.Store == nil {
		o.Fleet.Store = new(store.Memory)
	}
	if o.Cluster != nil {
		return startNode(o)
	}
	registry, err := fleet.New(o.Fleet)
	if err != nil {
		return nil, err
	}
	queues, tickets := o.Placement, o.Matchmaking
	queues.Region, queues.Store, queues.OnEvent = o.Fleet.Region, o.Fleet.Store, o.Fleet.OnEvent
	tickets.Region, tickets.Store, tickets.OnEvent = o.Fleet.Region, o.Fleet.Store, o.Fleet.OnEvent
	placements, err := placement.Load(queues.Store)
	if err != nil {
		return nil, err
	}
	matchmaking, err := matchmaker.Load(tickets.Store)
	if err != nil {
		return nil, err
	}
	ReportDamaged(o.Log, o.Counters, slices.Concat(registry.Damaged(), placements.Damaged(), matchmaking.Damaged()))
	if err := checkQueues(registry, queues.Queues, placements, o.Log); err != nil {
		return nil, err
	}
	if err := matchmaking.CheckConfigured(tickets); err != nil {
		return nil, err
	}
	warnOfQueues(tickets, placements.InEffect(queues.Queues), o.Log)
	s := newSystem(o, registry)
	s.spawn(o, placement.New(queues, s.fleet, placements), matchmaker.New(tickets, placer{s.placements, s.fleet}, matchmaking))
	return s, nil
}

func newSystem(o Options, registry *fleet.Registry) *System {
	s := &System{count: o.Counters, stopped: make(chan struct{}), registry: registry, bundle: o.Bundle, unpacks: make(chan struct{}, unpacksMax)}
	s.stage = stage.New(stage.Options{Log: o.Log, Counters: o.Counters, Shards: o.Shards, Flush: o.Flush, Now: o.Now, OnRootCrash: o.OnFailure})
	s.fleet = s.stage.NewRef(counters.ActorFleet, stage.LaneLimits{})
	s.placements = s.stage.NewRef(counters.ActorPlacement, stage.LaneLimits{})
	s.matchmaking = s.stage.NewRef(counters.ActorMatchmaker, stage.LaneLimits{})
	s.connections = s.stage.NewRef(counters.ActorConnections, stage.LaneLimits{})
	return s
}

func (s *System) spawn(o Options, placements, matchmaking stage.Actor) {
	s.stage.SpawnRoot(s.fleet, s.registry)
	s.stage.SpawnRoot(s.placements, placements)
	s.stage.SpawnRoot(s.matchmaking, matchmaking)
	s.stage.SpawnRoot(s.connections, connection.NewSupervisor(s.fleet, o.Timeouts))
}

// Connect creates the supervising actor of a new connection. The transport must call Ended on the returned handle when
// the connection has ended.
func (s *System) Connect(link connection.Link, channel counters.Channel, edge connection.Edge) *connection.Handle {
	h := connection.NewHandle(s.stage, link, channel, edge, s.count)
	s.connections.Tell(connection.Open{Handle: h})
	return h
}

// PlayerSession returns the status of a player session, or 0 if the id is unknown. It does not ask an actor.
func (s *System) PlayerSession(id messages.PlayerSessionID) messages.PlayerSessionStatus {
	return s.registry.PlayerSession(id)
}

// Ready returns the number of mailboxes that wait for a worker.
func (s *System) Ready() int { return s.stage.Ready() }

// Live returns the number of actors of a kind.
func (s *System) Live(kind counters.ActorKind) int64 { return s.stage.Live(kind) }

// Close stops all actors, top down, and waits up to 5 s for them to stop. It is idempotent.
func (s *System) Close() {
	if s.closed.Swap(true) {
		<-s.stopped
		return
	}
	defer close(s.stopped)
	if s.cluster != nil {
		defer s.cluster.close()
		s.cluster.cancel()
	}
	s.matchmaking.Stop()
	s.placements.Stop()
	if s.catalog != nil {
		s.catalog.Stop()
	}
	s.fleet.Stop()
	s.connections.Stop()
	deadline := time.Now().Add(5 * time.Second)
	for s.alive() > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	s.waitFor(time.Until(deadline))
	s.stage.Close()
}

// waitFor waits up to d for background work of the registry that cannot be stopped, such as the compilation of a
// script.
func (s *System) waitFor(d time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.registry.Wait()
	}()
	limit := time.NewTimer(max(d, time.Millisecond))
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
}

func (s *System) alive() (n int64) {
	for _, k := range []counters.ActorKind{counters.ActorFleet, counters.ActorGameSession, counters.ActorPlayer,
		counters.ActorGroup, counters.ActorConnections, counters.ActorConnection,
		counters.ActorPlacement, counters.ActorMatchmaker} {
		n += s.stage.Live(k)
	}
	return n
}
