package loadgen

import (
	"runtime"
	"sync"
	"testing"
	"time"
)

// Goroutines that have more to do than there are processors wait for each other.
func TestWaits(t *testing.T) {
	t.Parallel()
	const spin = 2 * time.Millisecond
	w := NewWaits()
	var all sync.WaitGroup
	for range 50 * runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for begun := time.Now(); time.Since(begun) < spin; {
			}
		})
	}
	all.Wait()
	if got := w.P99(); got < 10*spin || got > time.Minute {
		t.Errorf("goroutines that are to last %v together, each on its own processor, waited %v (p99)", 50*spin, got)
	}
}
