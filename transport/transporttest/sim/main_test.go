package sim

import (
	"flag"
	"os"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"troupe/transport/fast"
)

var (
	seedFlag  = flag.Uint64("sim.seed", 0, "run this seed alone; 0 runs many")
	seedsFlag = flag.Int("sim.seeds", seedsUsual, "how many seeds to run; with the race detector, a quarter of so many if nothing is said")
	firstFlag = flag.Uint64("sim.first", 1, "the first of them")
)

// noFast is a fast channel that is switched off. Its socket cannot live in a
// bubble, so all runs share one that nobody talks to.
var noFast *fast.Pool

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(400) // a fifth of the time
	var err error
	if noFast, err = fast.Listen(fast.Options{Addr: "127.0.0.1:0"}); err != nil {
		panic(err)
	}
	code := m.Run()
	noFast.Close()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			println(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}
