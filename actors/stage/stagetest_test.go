package stage_test

import (
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/actors/stage"
	"troupe/actors/stage/stagetest"
)

func TestProbeInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p := stagetest.Start(t, nil), new(stagetest.Probe)
		ref := s.Spawn(p)
		ref.Tell(stagetest.Do(func(c *stage.Context) { c.After(3*time.Second, "late") }))
		start := time.Now()
		ref.Tell(7)
		if got := stagetest.Await[string](t, p, time.Minute); got != "late" || time.Since(start) != 3*time.Second {
			t.Errorf("%q after %v", got, time.Since(start))
		}
		if got := p.Take(); len(got) != 2 || got[0] != (stagetest.Started{}) || got[1] != 7 {
			t.Errorf("left: %v", got)
		}
	})
}

func TestProbeInRealTime(t *testing.T) {
	s, p := stagetest.Start(t, nil), new(stagetest.Probe)
	s.Spawn(p).Tell("hello")
	stagetest.Await[string](t, p, 10*time.Second)
	s.Close()
	stagetest.Await[stagetest.Stopped](t, p, 0)
}

// fake is a testing.TB that only records failures.
type fake struct {
	testing.TB
	failed []string
}

func (f *fake) Helper()        {}
func (f *fake) Cleanup(func()) {}
func (f *fake) Errorf(format string, args ...any) {
	f.failed = append(f.failed, format)
}
func (f *fake) Fatalf(format string, args ...any) {
	f.failed = append(f.failed, format)
	runtime.Goexit()
}

// The helpers detect failures.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{TB: t}
		s, p := stagetest.Start(f, nil), new(stagetest.Probe)
		start, done := time.Now(), make(chan struct{})
		ref := s.Spawn(p)
		go func() {
			defer close(done)
			stagetest.Await[string](f, p, time.Second)
		}()
		<-done
		if len(f.failed) != 1 || !strings.Contains(f.failed[0], "no %T within") || time.Since(start) != time.Second {
			t.Errorf("Await failed with %q after %v", f.failed, time.Since(start))
		}
		f.failed = nil
		stray := s.NewRef()
		s.SpawnRoot(stray, new(stagetest.Probe))
		ref.Tell(stage.Panic{Text: "not wanted"})
		synctest.Wait()
		s.Close()
		if len(f.failed) != 2 || !strings.Contains(f.failed[0], "left") || !strings.Contains(f.failed[1], "panics") {
			t.Errorf("Close failed with %q", f.failed)
		}
	})
}
