package js

import (
	"flag"
	"runtime"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// The clock of regular expressions ends by itself, 1.6 s after the last one.
func TestMain(m *testing.M) {
	// Most tests wait for other processes. A -parallel of the command line overrides this.
	if err := flag.Set("test.parallel", strconv.Itoa(max(4, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	callWatchdog.Grace = time.Hour // a call that is interrupted ends, however busy the machine is
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}
