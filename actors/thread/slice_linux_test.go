package thread

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func sliceNow(t testing.TB) time.Duration {
	t.Helper()
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(attr.Runtime)
}

func TestALongCallHasLongSlices(t *testing.T) {
	runtime.LockOSThread() // so that the whole test runs on the thread of the call
	defer runtime.UnlockOSThread()
	before := sliceNow(t)
	if before == 0 || before == slice {
		t.Skip("the system does not tell how long slices are: Linux before 6.12, or another policy")
	}
	untilLong := func() {
		for begun := time.Now(); sliceNow(t) != slice; {
			if time.Since(begun) > time.Minute {
				t.Fatalf("slices of %v after a minute, want %v", sliceNow(t), slice)
			}
		}
	}
	for range 2 {
		Long(untilLong)
		if got := sliceNow(t); got != before {
			t.Errorf("after it: slices of %v, want %v as before", got, before)
		}
	}
	func() {
		defer func() {
			if recover() != "stop" {
				t.Error("the panic of the call is gone")
			}
		}()
		Long(func() {
			untilLong()
			panic("stop")
		})
	}()
	if got := sliceNow(t); got != before {
		t.Errorf("after a panic: slices of %v, want %v as before", got, before)
	}
}

// If the timer fires late, it does not change the thread of a call that has ended.
func TestACallThatIsOverStaysAsItWas(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before := sliceNow(t)
	c := &call{thread: unix.Gettid()}
	c.end(time.NewTimer(time.Hour))
	c.lengthen()
	if got := sliceNow(t); got != before {
		t.Errorf("slices of %v, want %v as before", got, before)
	}
}
