package host

import "testing"

func TestGarbageIsCollectedOnlyAfterMuchAndOnlyWhenCalm(t *testing.T) {
	const mib = 1 << 20
	var s gcTrigger
	for i, step := range []struct {
		allocated, live uint64
		want            bool
	}{
		{100 * mib, 50 * mib, false}, // a storm: 100 MiB since the last look
		{101 * mib, 50 * mib, false}, // calm for one look
		{102 * mib, 95 * mib, true},  // calm for two, however much is said to live
		{105 * mib, 50 * mib, false}, // nothing new
		{108 * mib, 50 * mib, false},
		{111 * mib, 50 * mib, false}, // 9 MiB are not a fifth of what lives
		{114 * mib, 50 * mib, true},  // 12 MiB are
		{214 * mib, 50 * mib, false}, // a storm again
		{215 * mib, 50 * mib, false},
		{216 * mib, 50 * mib, true},
		{219 * mib, 2 * mib, false},
		{222 * mib, 2 * mib, false}, // 6 MiB are too little to bother
		{225 * mib, 2 * mib, true},
	} {
		if got := s.due(heapLook{step.allocated, step.live}); got != step.want {
			t.Errorf("look %d: due is %v", i, got)
		}
	}
}
