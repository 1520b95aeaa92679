package js

import (
	"testing"

	"go.uber.org/goleak"
)

// The clock of regular expressions ends by itself, 1.6 s after the last one.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/dlclark/regexp2/v2.runClock"))
}
