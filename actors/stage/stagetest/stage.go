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

// patience is how long Close waits for actors to stop. In a test without a bubble it only prevents a hang.
const patience = time.Minute

// Stage is the stage.Stage of one test.
type Stage struct {
	*stage.Stage
	Count *counters.Set
	// Panics is the number of panics that the test expects. Set it before Close.
	Panics int64

	t     testing.TB
	mu    sync.Mutex
	roots []*stage.Ref
	once  sync.Once
}

// Start starts a Stage with one shard and closes it at the end of the test. change, if not nil, can change
// the options.
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

// NewRef creates a Ref for a probe, without limits.
func (s *Stage) NewRef() *stage.Ref { return s.Stage.NewRef(counters.ActorProbe, stage.LaneLimits{}) }

// Spawn starts a root actor. Close stops it.
func (s *Stage) Spawn(a stage.Actor) *stage.Ref { return s.SpawnAt(s.NewRef(), a) }

// SpawnAt is Spawn with a Ref that the test has created.
func (s *Stage) SpawnAt(ref *stage.Ref, a stage.Actor) *stage.Ref {
	s.mu.Lock()
	s.roots = append(s.roots, ref)
	s.mu.Unlock()
	s.SpawnRoot(ref, a)
	return ref
}

// Close stops the root actors, waits until no actor is left, ends the workers, and checks the number of
// panics. Further calls do nothing.
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

// Pass waits for d in a bubble, and then until all goroutines of the bubble are idle.
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
