package loadgen

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Goroutines that have more to do than there are processors wait for each other.
func TestWaits(t *testing.T) {
	t.Parallel()
	const spin = 2 * time.Millisecond // at least: a busy machine may give the processor to somebody else meanwhile, so it is work, not time
	var sink atomic.Uint64
	w := NewWaits()
	var all sync.WaitGroup
	for range 50 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			n := uint64(1)
			for range 3_000_000 {
				n ^= n << 13
				n ^= n >> 7
				n ^= n << 17
			}
			sink.Add(n)
		})
	}
	all.Wait()
	if got := w.P99(); got < 10*spin || got > time.Minute {
		t.Errorf("goroutines that are to last %v together, each on its own processor, waited %v (p99)", 50*spin, got)
	}
}
