package main

import (
	"cmp"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"

	"troupe/transport/host"
)

// The garbage collector starts when the garbage exceeds a percentage of the live heap (GOGC), by Go's default 100. With
// that, a host with a small heap collects several times per second. So the percentage is set after each collection such
// that there may always be garbageMin of garbage, and never less than Go's default: a host with 70 MiB of live heap
// grows to 140, one with 200 MiB to 400. On small machines, the minimum is 1/garbagePart of the memory.
const (
	garbageMin  = 64 << 20
	garbagePart = 32
)

// heapMin is the live heap that the runtime assumes at least: its first collection comes after heapMin of garbage times
// the percentage.
const heapMin = 4 << 20

// garbagePercent returns the percentage for a live heap.
func garbagePercent(live, least int64) int {
	return int(max(100, 100*least/max(live, heapMin)))
}

// paceGarbage adjusts the garbage collector after each collection until stop is called. A memory limit of the runtime
// (GOMEMLIMIT) takes precedence over the percentage.
func paceGarbage() (stop func()) {
	p := &pace{least: min(garbageMin, cmp.Or(host.MemoryMax(), math.MaxInt64)/garbagePart)}
	p.adjust()
	p.wait()
	return func() { p.stopped.Store(true) }
}

type pace struct {
	least   int64
	percent int // only the last change of it is in force
	stopped atomic.Bool
}

// wait makes the next collection call adjust.
func (p *pace) wait() {
	type sentinel struct{ _ *pace } // with a pointer it is an allocation of its own
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		if !p.stopped.Load() {
			p.adjust()
			p.wait()
		}
	})
}

// adjust sets the percentage. Small changes are not worth the pause that they cause.
func (p *pace) adjust() {
	live := [1]metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live[:])
	if percent := garbagePercent(int64(live[0].Value.Uint64()), p.least); percent > p.percent*9/8 || percent < p.percent*7/8 {
		p.percent = percent
		debug.SetGCPercent(percent)
	}
}
