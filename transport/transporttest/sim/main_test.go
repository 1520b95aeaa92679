package sim

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "run this seed alone; 0 runs many")
	seedsFlag = flag.Int("sim.seeds", seedsUsual, "how many seeds to run; with the race detector, a quarter of so many if nothing is said")
	firstFlag = flag.Uint64("sim.first", 1, "the first of them")
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // reduces the time for garbage collection to a fifth
	goleak.VerifyTestMain(m)
}
