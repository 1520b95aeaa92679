package host

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A host allocates memory while players log in and game sessions start, and almost none
// while they play. After many logins, the garbage would stay until as much again is
// allocated, which may be never. So when much has been allocated and allocation has become
// slow, the host runs the garbage collector and returns memory to the system, within 3 s:
// 18.2 KiB per idle connection become 14.2 (troupe bench idle). The runtime's live heap does
// not show how much is garbage: it includes all allocations during the last collection,
// which are many during a storm of logins.
const (
	gcCheckEvery = time.Second
	// gcCalmChecks is how many samples in a row must be calm: fewer than gcCalmBytes
	// allocated between two of them.
	gcCalmChecks = 2
	gcCalmBytes  = 2 << 20
	// gcGarbageMin and the next are how much must have been allocated since the last such
	// collection: in bytes, and as a part of the live heap.
	gcGarbageMin  = 8 << 20
	gcGarbagePart = 0.2
)

// heapLook is a sample of the heap, in bytes.
type heapLook struct {
	allocated uint64 // since the start
	live      uint64 // upper bound of the live heap, at the last collection of any kind
}

// gcTrigger decides when to collect. It keeps no reference to the heap.
type gcTrigger struct {
	last      heapLook
	calm      int
	collected uint64 // bytes allocated when it was last due
}

// due takes a sample and reports whether to collect.
func (s *gcTrigger) due(now heapLook) bool {
	calm := now.allocated-s.last.allocated < gcCalmBytes
	s.last = now
	if !calm {
		s.calm = 0
		return false
	}
	s.calm++
	fresh := now.allocated - s.collected
	if s.calm < gcCalmChecks || fresh < gcGarbageMin || float64(fresh) < gcGarbagePart*float64(now.live) {
		return false
	}
	s.calm, s.collected = 0, now.allocated
	return true
}

// collectWhenCalm runs until done is closed.
func collectWhenCalm(done <-chan struct{}) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	tick := time.NewTicker(gcCheckEvery)
	defer tick.Stop()
	var s gcTrigger
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		metrics.Read(samples)
		if s.due(heapLook{samples[0].Value.Uint64(), samples[1].Value.Uint64()}) {
			debug.FreeOSMemory()
		}
	}
}
