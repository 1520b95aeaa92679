package host

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync/atomic"
	"time"

	"troupe/messages"
	"troupe/transport"
)

// A host allocates memory while players log in and game sessions start, and almost none while they play. After many logins, the garbage
// would stay until as much again is allocated, which may be never. So when much has been allocated and allocation has become slow, the
// host runs the garbage collector and returns memory to the system, within 3 s: 18.2 KiB per idle connection become 14.2 (troupe bench
// idle). The runtime's live heap does not show how much is garbage: it includes all allocations during the last collection.
const (
	gcCheckEvery  = time.Second
	gcCalmChecks  = 2       // samples in a row that must be calm
	gcCalmBytes   = 2 << 20 // calm is less than so many allocated between two samples
	gcGarbageMin  = 8 << 20 // bytes that must have been allocated since the last such collection
	gcGarbagePart = 0.2     // the same as a part of the live heap
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

// The garbage of a login lies between the objects that its player keeps. The collector does not move objects, so the gaps stay, and their
// pages with them: 2.4 KiB per idle connection. So the host also collects each time that the number of connections has grown by
// gcGrowthPart and by gcGrowthMin, and the next ones fill the gaps of those before: 0.7 KiB. For 10,000 connections it collects 13 times.
const (
	gcGrowthPart = 0.18
	gcGrowthMin  = 500
)

// gcGrowth decides when to collect while connections are opened. Safe for concurrent use.
type gcGrowth struct {
	open func() int64  // connections
	next atomic.Int64  // at how many connections to collect
	due  chan struct{} // has an element when it is time
}

func newGCGrowth(open func() int64) *gcGrowth {
	g := &gcGrowth{open: open, due: make(chan struct{}, 1)}
	g.next.Store(gcGrowthMin)
	return g
}

func (g *gcGrowth) opened() {
	if g.open() < g.next.Load() {
		return
	}
	select {
	case g.due <- struct{}{}:
	default:
	}
}

func (g *gcGrowth) collecting() { g.next.Store(g.after()) }

// shrunk is called now and then: after many connections were closed, the next ones count again.
func (g *gcGrowth) shrunk() { g.next.Store(min(g.next.Load(), g.after())) }

func (g *gcGrowth) after() int64 {
	n := g.open()
	return n + max(gcGrowthMin, int64(gcGrowthPart*float64(n)))
}

// watched is an Acceptor that tells a gcGrowth of its connections.
type watched struct {
	transport.Acceptor
	growth *gcGrowth
}

// Accept implements transport.Acceptor.
func (w watched) Accept(c transport.Conn) (transport.Handler, messages.CloseReason) {
	w.growth.opened()
	return w.Acceptor.Accept(c)
}

// collectGarbage runs until done is closed.
func collectGarbage(done <-chan struct{}, g *gcGrowth) {
	samples := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}, {Name: "/gc/heap/live:bytes"}}
	tick := time.NewTicker(gcCheckEvery)
	defer tick.Stop()
	var s gcTrigger
	for {
		select {
		case <-done:
			return
		case <-g.due:
			g.collecting() // before: connections that are opened meanwhile count for the next one
			runtime.GC()
			continue
		case <-tick.C:
		}
		g.shrunk()
		metrics.Read(samples)
		if s.due(heapLook{samples[0].Value.Uint64(), samples[1].Value.Uint64()}) {
			debug.FreeOSMemory()
		}
	}
}
