package host

import (
	"slices"
	"testing"
	"time"
)

func TestGarbageIsCollectedOnlyAfterMuchAndOnlyWhenCalm(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	var s gcTrigger
	allocated := uint64(0)
	for i, step := range []struct {
		looks       int
		grown, live uint64 // grown: bytes allocated since the previous sample
		want        bool   // result of the last sample; all others return false
	}{
		{1, 100 * mib, 50 * mib, false},  // many logins
		{1, mib, 50 * mib, false},        // one calm sample
		{1, mib, 95 * mib, true},         // two calm samples; live does not matter
		{5, 1900 * kib, 50 * mib, false}, // 9.3 MiB are less than a fifth of the live heap
		{1, 1900 * kib, 50 * mib, true},  // 11.1 MiB are more
		{1, 100 * mib, 50 * mib, false},  // many logins again
		{1, mib, 50 * mib, false},
		{1, mib, 50 * mib, true},
		{4, 1900 * kib, 2 * mib, false}, // 7.4 MiB are below gcGarbageMin
		{1, 1900 * kib, 2 * mib, true},
	} {
		for look := range step.looks {
			allocated += step.grown
			want := step.want && look == step.looks-1
			if got := s.due(heapLook{allocated, step.live}); got != want {
				t.Errorf("step %d, look %d: due is %v", i, look, got)
			}
		}
	}
}

// An operator reads the memory figures five seconds after the last login of a crowd. The sample during which
// the logins end is not calm. The collection itself takes part of the last second.
func TestGarbageOfACrowdIsCollectedWithinFourSeconds(t *testing.T) {
	const burst = 100 << 20
	var s gcTrigger
	checks := 1
	for s.due(heapLook{burst, burst}); !s.due(heapLook{burst + 1, burst}); checks++ {
		if checks > 10 {
			t.Fatal("never")
		}
	}
	if worst := time.Duration(checks+1) * gcCheckEvery; worst > 4*time.Second {
		t.Errorf("due %v after the logins", worst)
	}
}

func TestGarbageIsCollectedWhilePlayersComeIn(t *testing.T) {
	open := int64(0)
	g := newGCGrowth(func() int64 { return open })
	var at []int64
	grow := func(to int64) {
		for open < to {
			open++
			g.opened()
			select {
			case <-g.due:
				g.collecting()
				at = append(at, open)
			default:
			}
		}
	}
	grow(6000)
	want := []int64{500, 1000, 1500, 2000, 2500, 3000, 3540, 4177, 4928, 5815}
	if !slices.Equal(at, want) {
		t.Errorf("collected at %v connections, want %v", at, want)
	}
	at, open = nil, 100
	g.shrunk()
	grow(700)
	if !slices.Equal(at, []int64{600}) {
		t.Errorf("after most had left, collected at %v connections, want 600", at)
	}
	at, open = nil, 10 // no growth: new connections replace closed ones
	for range 10 {
		grow(590)
		open = 500
	}
	if len(at) > 0 {
		t.Errorf("collected at %v connections without growth", at)
	}
}
