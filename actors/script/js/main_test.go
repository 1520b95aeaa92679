package js

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The clock goroutine of the regexp library ends by itself 1.6 s after its last use, so goleak must ignore
// it.
func TestMain(m *testing.M) {
	// Most tests wait for other processes, so run more of them in parallel. A -parallel flag on the command
	// line overrides this.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	callWatchdog.Grace = time.Hour // an interrupted call always ends in time, however busy the machine is
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}
