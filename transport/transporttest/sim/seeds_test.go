package sim

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
)

// badSeedsMax is how many failing seeds are reported before a test gives up.
const badSeedsMax = 3

// Every seed is a run of its own; see the package comment.
func TestSeeds(t *testing.T) {
	if *seedFlag != 0 {
		runSeed(t, *seedFlag)
		return
	}
	seeds := *seedsFlag
	if testing.Short() {
		seeds = min(seeds, 200)
	}
	var next, bad atomic.Int64
	for w := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint("worker ", w), func(t *testing.T) {
			t.Parallel()
			for bad.Load() < badSeedsMax {
				i := next.Add(1) - 1
				if i >= int64(seeds) {
					return
				}
				if !runSeed(t, *firstFlag+uint64(i)) {
					bad.Add(1)
				}
			}
		})
	}
}

func runSeed(t *testing.T, seed uint64) (ok bool) {
	t.Helper()
	if r := simulate(t, newPlan(seed)); r != nil {
		t.Errorf("%s", r.report())
		return false
	}
	return true
}
