package host

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A host allocates while players come and go, and next to nothing while they
// play. After a storm of logins the garbage would stay until as much again is
// allocated, which may be never. So when allocation has calmed down and much of
// the heap is garbage, the host collects it and gives the memory back: 12.9 KiB
// per idle connection became 11 (make bench-idle).
const (
	settleEvery = 2 * time.Second
	// settleCalm is how many looks in a row must be calm: fewer than
	// settleCalmBytes allocated between two of them.
	settleCalm      = 2
	settleCalmBytes = 4 << 20
	// settleGarbage is the garbage that is worth a collection: in bytes, and as a
	// part of what lives.
	settleGarbageMin  = 8 << 20
	settleGarbagePart = 0.2
)

// heapLook is what one look at the heap saw, in bytes.
type heapLook struct {
	allocated uint64 // since the start
	objects   uint64 // live and garbage
	live      uint64 // at the last collection
}

// settler decides when to collect. It keeps no reference to the heap.
type settler struct {
	last heapLook
	calm int
}

// due takes a look and reports whether the time has come.
func (s *settler) due(now heapLook) bool {
	calm := now.allocated-s.last.allocated < settleCalmBytes
	s.last = now
	if !calm {
		s.calm = 0
		return false
	}
	s.calm++
	garbage := int64(now.objects) - int64(now.live)
	if s.calm < settleCalm || garbage < settleGarbageMin || float64(garbage) < settleGarbagePart*float64(now.live) {
		return false
	}
	s.calm = 0
	return true
}

// settle runs until done is closed.
func settle(done <-chan struct{}) {
	samples := []metrics.Sample{
		{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"},
	}
	tick := time.NewTicker(settleEvery)
	defer tick.Stop()
	var s settler
	for {
		select {
		case <-done:
			return
		case <-tick.C:
		}
		metrics.Read(samples)
		if s.due(heapLook{samples[0].Value.Uint64(), samples[1].Value.Uint64(), samples[2].Value.Uint64()}) {
			debug.FreeOSMemory()
		}
	}
}
