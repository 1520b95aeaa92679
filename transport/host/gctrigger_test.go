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
		grown, live uint64 // grown since the look before
		want        bool   // at the last of the looks; at the others no
	}{
		{1, 100 * mib, 50 * mib, false},  // a storm
		{1, mib, 50 * mib, false},        // calm for one look
		{1, mib, 95 * mib, true},         // calm for two, however much is said to live
		{5, 1900 * kib, 50 * mib, false}, // 9.3 MiB are not a fifth of what lives
		{1, 1900 * kib, 50 * mib, true},  // 11.1 MiB are
		{1, 100 * mib, 50 * mib, false},  // a storm again
		{1, mib, 50 * mib, false},
		{1, mib, 50 * mib, true},
		{4, 1900 * kib, 2 * mib, false}, // 7.4 MiB are too little to bother
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

// An operator reads the memory of a crowd five seconds after the last player came. The check in
// which the logins end is not calm; the collection takes a part of the last second.
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
	at, open = nil, 10 // no growth: those that leave make room for others
	for range 10 {
		grow(590)
		open = 500
	}
	if len(at) > 0 {
		t.Errorf("collected at %v connections without growth", at)
	}
}
