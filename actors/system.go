package actors

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/connection"
	"troupe/actors/fleet"
	"troupe/actors/gamesession"
	"troupe/actors/placement"
	"troupe/actors/script/bundle"
	"troupe/actors/stage"
	"troupe/actors/store"
	"troupe/messages"
	"troupe/messages/counters"
)

// Options configure a System. Values are set once.
type Options struct {
	Log      zerolog.Logger
	Counters *counters.Set
	// Shards is the number of workers; 0 means one per CPU that Go may use.
	Shards int
	// Flush says when output is flushed; see stage.FlushPolicy.
	Flush stage.FlushPolicy
	// Now is the wall clock; nil means time.Now.
	Now func() time.Time
	// Fleet configures the registry and all game sessions.
	Fleet fleet.Options
	// Placement configures queues and placements. Region, Store and OnEvent are those of
	// Fleet where they are not set.
	Placement placement.Options
	// Bundle bounds the archives of scripts.
	Bundle bundle.Limits
	// Timeouts bound silent connections.
	Timeouts connection.Timeouts
	// OnFailure is called when an actor that cannot be replaced crashes: the
	// process should end with an error.
	OnFailure func(reason string)
}

// System is the tree of actors of one host. Its methods may be called from any
// goroutine.
type System struct {
	stage       *stage.Stage
	count       *counters.Set
	fleet       *stage.Ref
	placements  *stage.Ref
	registry    *fleet.Registry // for PlayerSession and Wait only: the rest is its actor's
	bundle      bundle.Limits
	unpacks     chan struct{}
	connections *stage.Ref
	closed      atomic.Bool
	stopped     chan struct{}
}

// Start builds the tree, with what the store has. Close ends it. Stored records that are
// not what was written, or make no sense, are logged and counted, and left out. It is an
// error if a configured queue has a destination that has never been; see checkQueues.
func Start(o Options) (*System, error) {
	if o.Fleet.Store == nil {
		o.Fleet.Store = new(store.Memory)
	}
	registry, err := fleet.New(o.Fleet)
	if err != nil {
		return nil, err
	}
	queues := o.placement()
	placements, err := placement.Load(queues.Store)
	if err != nil {
		return nil, err
	}
	ReportDamaged(o.Log, o.Counters, append(registry.Damaged(), placements.Damaged()...))
	if err := checkQueues(registry, queues.Queues, placements, o.Log); err != nil {
		return nil, err
	}
	s := &System{count: o.Counters, stopped: make(chan struct{}), registry: registry, bundle: o.Bundle, unpacks: make(chan struct{}, unpacksMax)}
	s.stage = stage.New(stage.Options{Log: o.Log, Counters: o.Counters, Shards: o.Shards, Flush: o.Flush, Now: o.Now, OnRootCrash: o.OnFailure})
	s.fleet = s.stage.NewRef(counters.ActorFleet, stage.LaneLimits{})
	s.stage.SpawnRoot(s.fleet, s.registry)
	s.placements = s.stage.NewRef(counters.ActorPlacement, stage.LaneLimits{})
	s.stage.SpawnRoot(s.placements, placement.New(queues, s.fleet, placements))
	s.connections = s.stage.NewRef(counters.ActorConnections, stage.LaneLimits{})
	s.stage.SpawnRoot(s.connections, connection.NewSupervisor(s.fleet, o.Timeouts))
	return s, nil
}

// Connect puts a new connection under supervision. The transport must call the
// handle's Ended once the connection is gone.
func (s *System) Connect(link connection.Link, channel counters.Channel, edge connection.Edge) *connection.Handle {
	h := connection.NewHandle(s.stage, link, channel, edge, s.count)
	s.connections.Tell(connection.Open{Handle: h})
	return h
}

// PlayerSession returns the status of a player session at once, 0 if the id is not known
// here.
func (s *System) PlayerSession(id messages.PlayerSessionID) messages.PlayerSessionStatus {
	return s.registry.PlayerSession(id)
}

// CreateGameSession starts a game session. The error is a *messages.Error or
// the context's.
func (s *System) CreateGameSession(ctx context.Context, req messages.CreateGameSession) (*messages.GameSession, error) {
	return stage.Await(ctx, func(reply func(*messages.GameSession, error)) {
		s.fleet.Tell(fleet.CreateGameSession{Request: req, Reply: reply})
	})
}

// UpdateGameSession changes a game session.
func (s *System) UpdateGameSession(ctx context.Context, q messages.UpdateGameSession) (*messages.GameSession, error) {
	return ask[messages.UpdateGameSession, *messages.GameSession](ctx, s, q)
}

// TerminateGameSession ends a game session; force does not wait for the game.
func (s *System) TerminateGameSession(ctx context.Context, id messages.GameSessionID, force bool) (*messages.GameSession, error) {
	return stage.Await(ctx, func(reply func(*messages.GameSession, error)) {
		s.fleet.Tell(fleet.TerminateGameSession{Session: id, Force: force, Reply: reply})
	})
}

// GameSessions reads game sessions, oldest first.
func (s *System) GameSessions(ctx context.Context, q messages.GameSessionQuery) ([]*messages.GameSession, error) {
	return stage.Await(ctx, func(reply func([]*messages.GameSession, error)) {
		s.fleet.Tell(fleet.GameSessions{Query: q, Reply: reply})
	})
}

// LiveGameSessions returns the game sessions of a fleet, or of the one that an alias leads
// to, that have not ended, oldest first, and maybe some that have. It costs a question to
// the registry, and with a location a look at each. The list must not be changed.
func (s *System) LiveGameSessions(ctx context.Context, id messages.FleetID, alias messages.AliasID, location string) ([]*gamesession.Published, error) {
	list, err := stage.Await(ctx, func(reply func([]*gamesession.Published, error)) {
		s.fleet.Tell(fleet.Request[fleet.LiveSessions, []*gamesession.Published]{
			Request: fleet.LiveSessions{FleetID: id, AliasID: alias, Location: location}, Reply: reply,
		})
	})
	if err != nil || location == "" {
		return list, err
	}
	var there []*gamesession.Published
	for _, p := range list {
		if g, _, _ := p.Shared(); g.Location == location {
			there = append(there, p)
		}
	}
	return there, nil
}

// CreatePlayerSessions reserves seats, all or none.
func (s *System) CreatePlayerSessions(ctx context.Context, req messages.CreatePlayerSessions) ([]*messages.PlayerSession, error) {
	return stage.Await(ctx, func(reply func([]*messages.PlayerSession, error)) {
		s.fleet.Tell(fleet.CreatePlayerSessions{Request: req, Reply: reply})
	})
}

// PlayerSessions reads player sessions, oldest first.
func (s *System) PlayerSessions(ctx context.Context, q messages.PlayerSessionQuery) ([]*messages.PlayerSession, error) {
	return stage.Await(ctx, func(reply func([]*messages.PlayerSession, error)) {
		s.fleet.Tell(fleet.PlayerSessions{Query: q, Reply: reply})
	})
}

// Fleets reads all fleets, oldest first.
func (s *System) Fleets(ctx context.Context) ([]*messages.Fleet, error) {
	return stage.Await(ctx, func(reply func([]*messages.Fleet, error)) {
		s.fleet.Tell(fleet.Fleets{Reply: reply})
	})
}

// Drain refuses new game sessions and seats, lets those that are there go on for at most
// grace, ends what is left, and returns when all are gone or ctx ends. A further call,
// also while one waits, may shorten the grace. It is fleet.ErrDrainCancelled after a
// CancelDrain.
func (s *System) Drain(ctx context.Context, grace time.Duration) error {
	_, err := stage.Await(ctx, func(reply func(struct{}, error)) {
		s.StartDrain(grace, func(err error) { reply(struct{}{}, err) })
	})
	if err != nil {
		return fmt.Errorf("actors: drain: %w", err)
	}
	return nil
}

// StartDrain is Drain for those who do not wait. Done is called once, from any
// goroutine, and must not wait.
func (s *System) StartDrain(grace time.Duration, done func(error)) {
	s.placements.Tell(placement.Drain{})
	s.fleet.Tell(fleet.Drain{Grace: grace, Done: done})
}

// CancelDrain takes new game sessions, seats and placements again. It is
// fleet.ErrNotDraining if there is no drain, fleet.ErrDrainTooLate if its games are over,
// or its grace is. It is done whole, also if ctx ends meanwhile.
func (s *System) CancelDrain(ctx context.Context) error {
	if _, err := ask[fleet.CancelDrain, fleet.None](context.WithoutCancel(ctx), s, fleet.CancelDrain{}); err != nil {
		return err
	}
	s.placements.Tell(placement.CancelDrain{})
	return nil
}

// Depth returns how many messages wait for the registry and for game sessions.
func (s *System) Depth(ctx context.Context) (fleet.Depths, error) {
	return stage.Await(ctx, func(reply func(fleet.Depths, error)) {
		s.fleet.Tell(fleet.Depth{Reply: reply})
	})
}

// Ready returns how many mailboxes wait for a worker.
func (s *System) Ready() int { return s.stage.Ready() }

// Live returns the number of actors of a kind.
func (s *System) Live(kind counters.ActorKind) int64 { return s.stage.Live(kind) }

// Close stops all actors, top down, and waits for them up to 5 s. It is
// idempotent.
func (s *System) Close() {
	if s.closed.Swap(true) {
		<-s.stopped
		return
	}
	defer close(s.stopped)
	s.placements.Stop()
	s.fleet.Stop()
	s.connections.Stop()
	deadline := time.Now().Add(5 * time.Second)
	for s.alive() > 0 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	s.waitFor(time.Until(deadline))
	s.stage.Close()
}

// waitFor waits for what works beside the registry, an engine that compiles for
// example, but not for ever: that cannot be stopped.
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
		counters.ActorPlacement} {
		n += s.stage.Live(k)
	}
	return n
}
