package host

import "testing"

func TestSettleCollectsOnlyMuchGarbageAndOnlyWhenCalm(t *testing.T) {
	const mib = 1 << 20
	var s settler
	for i, step := range []struct {
		allocated, objects, live uint64
		want                     bool
	}{
		{100 * mib, 90 * mib, 50 * mib, false},  // a storm: 100 MiB since the last look
		{101 * mib, 91 * mib, 50 * mib, false},  // calm for one look
		{102 * mib, 92 * mib, 50 * mib, true},   // calm for two, 42 MiB of garbage
		{103 * mib, 51 * mib, 50 * mib, false},  // nothing to collect
		{104 * mib, 52 * mib, 50 * mib, false},  //
		{105 * mib, 59 * mib, 50 * mib, false},  // 9 MiB are not a fifth of what lives
		{106 * mib, 62 * mib, 50 * mib, true},   // 12 MiB are
		{206 * mib, 120 * mib, 50 * mib, false}, // a storm again
		{207 * mib, 121 * mib, 50 * mib, false},
		{208 * mib, 121 * mib, 50 * mib, true},
		{209 * mib, 9 * mib, 2 * mib, false},
		{210 * mib, 9 * mib, 2 * mib, false}, // 7 MiB are too little to bother
		{211 * mib, 40 * mib, 50 * mib, false},
	} {
		if got := s.due(heapLook{step.allocated, step.objects, step.live}); got != step.want {
			t.Errorf("look %d: due is %v", i, got)
		}
	}
}
