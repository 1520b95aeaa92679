package main

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"troupe/actors/actorstest/assert"
)

func TestTheGarbageThatMayGather(t *testing.T) {
	for _, c := range []struct{ liveMiB, leastMiB, percent int64 }{
		{0, 96, 2400}, {12, 96, 800}, {70, 96, 137}, {96, 96, 100}, {200, 96, 100}, {8000, 96, 100}, {32, 16, 100}, {4, 0, 100},
	} {
		assert.Equal(t, "percent", int64(garbagePercent(c.liveMiB<<20, c.leastMiB<<20)), c.percent)
	}
}

// Each collection sets the percentage for the heap that it has found alive, until the host ends.
func TestCollectionsAdjustThePercentage(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	percent := func() uint64 {
		s := [1]metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s[:])
		return s[0].Value.Uint64()
	}
	until := func(what string, is func() bool) {
		t.Helper()
		for range 1 << 16 {
			if is() {
				return
			}
			runtime.GC()
			runtime.Gosched()
		}
		t.Fatalf("%s: the percentage is still %d", what, percent())
	}
	stop := paceGarbage()
	small := percent()
	live := make([]byte, 200<<20)
	until("with a large heap", func() bool { return percent() == 100 })
	runtime.KeepAlive(live)
	live = nil
	until("with a small heap", func() bool { return percent() > small/2 })
	stop()
	debug.SetGCPercent(77)
	live = make([]byte, 200<<20)
	for range 16 {
		runtime.GC()
		runtime.Gosched()
	}
	runtime.KeepAlive(live)
	assert.Equal(t, "percent after the end", percent(), 77)
}
