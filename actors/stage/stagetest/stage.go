package stagetest

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/stage"
	"troupe/messages/counters"
)

// patience is how long Close waits for actors to stop. Outside of a bubble it only ends a hang.
const patience = time.Minute

// Stage is a stage.Stage of one test.
type Stage struct {
	*stage.Stage
	Count *counters.Set
	// Panics is how many panics the test wants, to be set before Close.
	Panics int64

	t     testing.TB
	mu    sync.Mutex
	roots []*stage.Ref
	once  sync.Once
}

// Start starts a Stage with one shard, options changed by change if not nil, and closes it at the test's end.
func Start(t testing.TB, change func(*stage.Options)) *Stage {
	t.Helper()
	s := &Stage{t: t, Count: new(counters.Set)}
	o := stage.Options{Log: zerolog.Nop(), Counters: s.Count, Shards: 1}
	if change != nil {
		change(&o)
	}
	s.Stage = stage.New(o)
	t.Cleanup(s.Close)
	return s
}

// NewRef makes a Ref for a probe without bounds.
func (s *Stage) NewRef() *stage.Ref { return s.Stage.NewRef(counters.ActorProbe, stage.LaneLimits{}) }

// Spawn starts a root actor, which Close stops.
func (s *Stage) Spawn(a stage.Actor) *stage.Ref { return s.SpawnAt(s.NewRef(), a) }

// SpawnAt is Spawn behind a Ref of the test's own.
func (s *Stage) SpawnAt(ref *stage.Ref, a stage.Actor) *stage.Ref {
	s.mu.Lock()
	s.roots = append(s.roots, ref)
	s.mu.Unlock()
	s.SpawnRoot(ref, a)
	return ref
}

// Close stops the root actors, waits until none is left, ends the workers and checks the panics; once.
func (s *Stage) Close() {
	s.t.Helper()
	s.once.Do(func() {
		s.t.Helper()
		s.mu.Lock()
		roots := s.roots
		s.mu.Unlock()
		for _, r := range roots {
			r.Stop()
		}
		for end := time.Now().Add(patience); s.alive() > 0 && time.Now().Before(end); {
			time.Sleep(100 * time.Microsecond)
		}
		if n := s.alive(); n > 0 {
			s.t.Errorf("stagetest: %d actors are left", n)
		}
		s.Stage.Close()
		if n := s.Count.ActorPanics.Load(); n != s.Panics {
			s.t.Errorf("stagetest: %d panics, want %d", n, s.Panics)
		}
	})
}

// Pass lets time pass in a bubble, and waits until all is idle.
func Pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (s *Stage) alive() (n int64) {
	for k := counters.ActorFleet; k.String() != ""; k++ {
		n += s.Live(k)
	}
	return n
}
