package host

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A host allocates while players come and go and game sessions start, and next to
// nothing while they play. After a storm the garbage would stay until as much again
// is allocated, which may be never. So when allocation has calmed down, and much has
// been allocated, the host collects what is garbage of it and gives the memory back:
// 12.9 KiB per idle connection became 11 (make bench-idle). What the runtime calls
// live is no measure of what is not garbage: it holds all that was allocated during
// the last collection, which in a storm is much (make bench-script).
const (
	gcCheckEvery = 2 * time.Second
	// gcCalmChecks is how many looks in a row must be calm: fewer than
	// gcCalmBytes allocated between two of them.
	gcCalmChecks = 2
	gcCalmBytes  = 4 << 20
	// gcGarbage is what must have been allocated since the last collection of this
	// kind: in bytes, and as a part of what lives.
	gcGarbageMin  = 8 << 20
	gcGarbagePart = 0.2
)

// heapLook is what one look at the heap saw, in bytes.
type heapLook struct {
	allocated uint64 // since the start
	live      uint64 // at the last collection of whatever kind, at most
}

// gcTrigger decides when to collect. It keeps no reference to the heap.
type gcTrigger struct {
	last      heapLook
	calm      int
	collected uint64 // what had been allocated when it was last due
}

// due takes a look and reports whether the time has come.
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
