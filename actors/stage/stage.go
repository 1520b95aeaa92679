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
	// Log receives panics, and warnings about actors that block their shard.
	Log zerolog.Logger
	// Counters counts panics and overflows; required.
	Counters *counters.Set
	// Shards is the number of workers; 0 means one per CPU that Go may use.
	Shards int
	// Flush is the flush policy of the shards.
	Flush FlushPolicy
	// Now is the wall clock, time.Now if nil. Timers use the monotonic clock.
	Now func() time.Time
	// OnRootCrash is called when an actor without a parent panics.
	OnRootCrash func(reason string)
}

// Stage is one actor system with its shards. There is one per host.
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

// NewRef makes a Ref for an actor. Shards, and a shard's groups, get about as many of every kind.
func (s *Stage) NewRef(kind counters.ActorKind, limits LaneLimits) *Ref {
	shard, group := placeOf(s.next.Add(1), len(s.shards), len(s.shards[0].groups))
	return s.newRef(kind, limits, s.shards[shard], group)
}

// placeOf returns the shard and group of the n-th actor, not in turns: a room and its seven
// players' connections make eight, so every room would come to the same shard of eight.
func placeOf(n uint64, shards, groups int) (shard int, group uint8) {
	const golden = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio: its multiples spread evenly, with any step
	part := (n * golden >> 32) * uint64(shards)
	return int(part >> 32), uint8((part & math.MaxUint32) * uint64(groups) >> 32)
}

// NewRefBeside makes a Ref on other's shard: messages between the two need no goroutine switch.
func (s *Stage) NewRefBeside(other *Ref, kind counters.ActorKind, limits LaneLimits) *Ref {
	return s.newRef(kind, limits, other.mailbox.shard, other.mailbox.group)
}

func (s *Stage) newRef(kind counters.ActorKind, limits LaneLimits, shard *Shard, group uint8) *Ref {
	r := &Ref{kind: kind, number: s.names.Add(1)}
	r.mailbox.limits, r.mailbox.shard, r.mailbox.group = limitsOf(limits), shard, group
	return r
}

// SpawnRoot starts an actor without a parent behind a fresh ref; OnRootCrash gets its panic.
func (s *Stage) SpawnRoot(ref *Ref, a Actor) { s.spawn(nil, ref, a) }

// spawn starts an actor; parent is nil for a root.
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

// Live returns the number of actors of a kind.
func (s *Stage) Live(kind counters.ActorKind) int64 { return s.live.Get(kind) }

// Ready returns the number of mailboxes that wait for a worker.
func (s *Stage) Ready() (n int) {
	for _, sh := range s.shards {
		n += sh.waiting()
	}
	return n
}

// panicked counts and logs a panic. It is called while the panic unwinds.
func (s *Stage) panicked(who string, what, reason any) {
	s.count.ActorPanics.Add(1)
	s.log.Error().Str("actor", who).Str("message", fmt.Sprintf("%T", what)).
		Str("panic", fmt.Sprint(reason)).Bytes("stack", debug.Stack()).Msg("actor panicked")
}

// contain, deferred, ends a panic of code that runs outside of any actor.
func (s *Stage) contain(who string, what any) {
	if r := recover(); r != nil {
		s.panicked(who, what, r)
	}
}

// Close ends the workers after their batches. Stop all actors and wait for them first: Close drops pending work.
func (s *Stage) Close() {
	s.closing.Do(func() {
		s.watch.close()
		for _, sh := range s.shards {
			sh.close()
		}
	})
}

// Await calls ask and waits for the first call of its reply function or ctx's end. For API handlers and tests, never in an actor.
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
	case a := <-answers: // it came in time, too
		return a.value, a.err
	default:
		var zero T
		return zero, ctx.Err()
	}
}
