package stage

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Options configure a Stage.
type Options struct {
	// Log receives panics and the library's own words.
	Log zerolog.Logger
	// Counters is where panics and overflows are counted; required.
	Counters *counters.Set
	// Shards is the number of workers; 0 means one per CPU that Go may use.
	Shards int
	// Flush is the flush policy of the shards.
	Flush FlushPolicy
	// Now is the wall clock; nil means time.Now. Timers run on the monotonic
	// clock whatever it says.
	Now func() time.Time
	// OnRootCrash is called when an actor without a parent panics.
	OnRootCrash func(reason string)
}

// Stage is one actor system with its shards. There is one per host.
type Stage struct {
	system      *actor.ActorSystem
	log         zerolog.Logger
	count       *counters.Set
	shards      []*Shard
	live        counters.Vec[counters.ActorKind]
	onRootCrash func(string)
	now         func() time.Time
	names       atomic.Uint64
	next        atomic.Uint64
	stopWatch   chan struct{}
	watching    sync.WaitGroup
}

// heldUp is how long one batch may keep a worker before the shard's other
// mailboxes get a new one: far over a normal batch, far under a frame budget.
const heldUp = 10 * time.Millisecond

// New starts a stage. Close ends it.
func New(o Options) *Stage {
	if o.Shards <= 0 {
		o.Shards = runtime.GOMAXPROCS(0)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	log := o.Log
	s := &Stage{log: log, count: o.Counters, onRootCrash: o.OnRootCrash, now: o.Now, stopWatch: make(chan struct{})}
	s.system = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(zerolog.NewSlogHandler(log.Level(max(log.GetLevel(), zerolog.WarnLevel))))
	}))
	for range o.Shards {
		s.shards = append(s.shards, newShard(o.Flush))
	}
	s.watching.Add(1)
	go s.watch()
	return s
}

// NewRef makes a Ref for an actor to be spawned, on the next shard in turn.
func (s *Stage) NewRef(kind counters.ActorKind, limits LaneLimits) *Ref {
	return s.newRef(kind, limits, s.shards[s.next.Add(1)%uint64(len(s.shards))])
}

// NewRefBeside makes a Ref on the same shard as other: messages between the two
// cost no switch of goroutines.
func (s *Stage) NewRefBeside(other *Ref, kind counters.ActorKind, limits LaneLimits) *Ref {
	return s.newRef(kind, limits, other.mailbox.shard)
}

func (s *Stage) newRef(kind counters.ActorKind, limits LaneLimits, shard *Shard) *Ref {
	r := &Ref{stage: s, kind: kind, name: kind.String() + "-" + strconv.FormatUint(s.names.Add(1), 36)}
	r.mailbox.limits, r.mailbox.shard = limits, shard
	return r
}

// SpawnRoot starts an actor without a parent. Its panic ends in OnRootCrash.
func (s *Stage) SpawnRoot(ref *Ref, a Actor) {
	pid, err := s.system.Root.SpawnNamed(s.props(ref, a, nil), ref.name)
	if err != nil {
		panic("stage: spawn " + ref.name + ": " + err.Error()) // names are unique: a bug
	}
	ref.pid.Store(pid)
}

func (s *Stage) props(ref *Ref, a Actor, parent *Ref) *actor.Props {
	s.live.Add(ref.kind, 1)
	return actor.PropsFromProducer(func() actor.Actor {
		g := &guard{self: ref, parent: parent, actor: a, stage: s}
		g.context.guard = g
		return g
	}, actor.WithMailbox(func() actor.Mailbox { return &ref.mailbox }))
}

// Now returns the wall clock.
func (s *Stage) Now() time.Time { return s.now() }

// Live returns the number of actors of a kind.
func (s *Stage) Live(kind counters.ActorKind) int64 { return s.live.Get(kind) }

// Ready returns the number of mailboxes that wait for a worker.
func (s *Stage) Ready() (n int) {
	for _, sh := range s.shards {
		sh.mu.Lock()
		n += sh.ready.n
		sh.mu.Unlock()
	}
	return n
}

// watch replaces workers that one batch holds up while others wait.
func (s *Stage) watch() {
	defer s.watching.Done()
	tick := time.NewTicker(heldUp)
	defer tick.Stop()
	last := make([]uint64, len(s.shards))
	for {
		select {
		case <-s.stopWatch:
			return
		case <-tick.C:
		}
		for i, sh := range s.shards {
			sh.mu.Lock()
			w, waiting := sh.current, sh.ready.n
			sh.mu.Unlock()
			turn := w.turn.Load()
			if turn%2 == 1 && turn == last[i] && waiting > 0 {
				s.log.Warn().Int("shard", i).Int("waiting", waiting).Msg("an actor holds up its worker; another takes over")
				sh.replaceWorker()
				turn = 0
			}
			last[i] = turn
		}
	}
}

// Close ends the workers and the library's system. Stop all actors before:
// neither does.
func (s *Stage) Close() {
	close(s.stopWatch)
	s.watching.Wait()
	for _, sh := range s.shards {
		sh.close()
	}
	s.system.Shutdown()
}

// ErrNoReply is returned by Await when the asked actor went away.
var ErrNoReply = errors.New("stage: the actor stopped before it replied")

// Await runs ask with a reply function and waits for its first call or the end
// of ctx. For the edges (API handlers, tests) only: never inside an actor.
func Await[T any](ctx context.Context, ask func(reply func(T, error))) (T, error) {
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	ask(func(v T, err error) {
		select {
		case answers <- answer{v, err}:
		default:
		}
	})
	select {
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		var zero T
		return zero, ctx.Err()
	}
}
