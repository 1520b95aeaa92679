package stage

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages/counters"
)

// Options configure a Stage.
type Options struct {
	// Log gets messages about panics, and warnings about actors that block their shard.
	Log zerolog.Logger
	// Counters counts panics and overflows. It is required.
	Counters *counters.Set
	// Shards is the number of shards; 0 means GOMAXPROCS.
	Shards int
	// Flush is the flush policy of the shards.
	Flush FlushPolicy
	// Now is the wall clock; nil means time.Now. Timers use the monotonic clock.
	Now func() time.Time
	// OnRootCrash is called when an actor without a parent panics.
	OnRootCrash func(reason string)
}

// Stage is an actor system with its shards. A host has one.
type Stage struct {
	log         zerolog.Logger
	count       *counters.Set
	shards      []*Shard
	live        counters.Vec[counters.ActorKind]
	onRootCrash func(string)
	now         func() time.Time
	names       atomic.Uint64
	next        atomic.Uint64
	closing     sync.Once
	watch       watch
	strain      strain
}

// New starts a stage. Close ends it.
func New(o Options) *Stage {
	if o.Shards <= 0 {
		o.Shards = runtime.GOMAXPROCS(0)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Stage{log: o.Log, count: o.Counters, onRootCrash: o.OnRootCrash, now: o.Now}
	for n := range o.Shards {
		s.shards = append(s.shards, newShard(s, o.Flush, n, o.Shards))
	}
	s.watch.start(s)
	return s
}

// NewRef creates a Ref for an actor. Actors of each kind are distributed evenly over shards and groups.
func (s *Stage) NewRef(kind counters.ActorKind, limits LaneLimits) *Ref {
	shard, group := placeOf(s.next.Add(1), len(s.shards), len(s.shards[0].groups))
	return s.newRef(kind, limits, s.shards[shard], group)
}

// placeOf returns the shard and group of the n-th actor. It does not assign shards in turn: a room and the
// connections of its seven players are eight actors, so with eight shards every room would be on the same
// shard.
func placeOf(n uint64, shards, groups int) (shard int, group uint8) {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio; its multiples are spread evenly for any step size
	part := (n * golden >> 32) * uint64(shards)
	return int(part >> 32), uint8((part & math.MaxUint32) * uint64(groups) >> 32)
}

// NewRefBeside creates a Ref on the same shard as other, so that messages between the two need no goroutine
// switch.
func (s *Stage) NewRefBeside(other *Ref, kind counters.ActorKind, limits LaneLimits) *Ref {
	return s.newRef(kind, limits, other.mailbox.shard, other.mailbox.group)
}

func (s *Stage) newRef(kind counters.ActorKind, limits LaneLimits, shard *Shard, group uint8) *Ref {
	r := &Ref{kind: kind, number: s.names.Add(1)}
	r.mailbox.limits, r.mailbox.shard, r.mailbox.group = limitsOf(limits), shard, group
	return r
}

// SpawnRoot starts an actor without a parent, with a new ref. If it panics, OnRootCrash is called.
func (s *Stage) SpawnRoot(ref *Ref, a Actor) { s.spawn(nil, ref, a) }

// spawn starts an actor. parent is nil for a root actor.
func (s *Stage) spawn(parent *guard, ref *Ref, a Actor) {
	if ref.spawned.Swap(true) {
		panic("stage: spawn " + ref.Name() + ": an actor had this Ref")
	}
	g := &guard{self: ref, parent: parent, actor: a}
	s.live.Add(ref.kind, 1)
	if parent != nil {
		parent.addChild(g)
	}
	m := &ref.mailbox
	m.invoker = g
	m.postSystem(startedMessage)
	m.start()
}

// Now returns the wall clock.
func (s *Stage) Now() time.Time { return s.now() }

// Live returns the number of live actors of a kind.
func (s *Stage) Live(kind counters.ActorKind) int64 { return s.live.Get(kind) }

// Ready returns the number of mailboxes that are waiting for a worker.
func (s *Stage) Ready() (n int) {
	for _, sh := range s.shards {
		n += sh.waiting()
	}
	return n
}

// panicked counts and logs a panic. It must be called from the deferred function that recovers, so that the
// stack is still that of the panic.
func (s *Stage) panicked(who string, what, reason any) {
	s.count.ActorPanics.Add(1)
	s.log.Error().Str("actor", who).Str("message", fmt.Sprintf("%T", what)).
		Str("panic", fmt.Sprint(reason)).Bytes("stack", debug.Stack()).Msg("actor panicked")
}

// contain is deferred. It recovers from a panic of code that runs outside of actors.
func (s *Stage) contain(who string, what any) {
	if r := recover(); r != nil {
		s.panicked(who, what, r)
	}
}

// Close ends the workers after their batches. It drops pending work, so stop all actors and wait for their
// end before.
func (s *Stage) Close() {
	s.closing.Do(func() {
		s.watch.close()
		for _, sh := range s.shards {
			sh.close()
		}
	})
}

// Await calls ask, and waits until the reply function is called or ctx is done. Only the first reply counts.
// Await is for API handlers and tests; actors must not call it.
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
	}
	select {
	case a := <-answers: // the answer arrived at the same time
		return a.value, a.err
	default:
		var zero T
		return zero, ctx.Err()
	}
}
