package js

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A built-in that processes a long list cannot be paused. So its thread gets long time slices from the
// scheduler (package thread).
func TestALongListIsGoneThroughWithLongSlices(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	slice := func() time.Duration {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(attr.Runtime)
	}
	usual, want := slice(), time.Duration(0)
	if usual == 0 {
		t.Skip("the system does not say how long slices are: Linux before 6.12, or another policy")
	}
	inside := 0
	g := start(t, calm(), body(`onMessage(m) { Array.prototype.indexOf.call({ length: m.opCode, get 0() { logger.info('in the list'); } }, 1); }`))
	g.lines.during = func() {
		inside++
		for begun := time.Now(); slice() != want; { // the scheduler setting changes half a millisecond after the start of the call
			if time.Since(begun) > time.Minute {
				t.Fatalf("slices of %v, want %v", slice(), want)
			}
		}
	}
	for n, c := range []struct {
		length int32
		want   time.Duration
	}{{longList - 1, usual}, {longList, 100 * time.Millisecond}} {
		want = c.want
		g.handler.OnMessage(message(c.length, ""))
		if after := slice(); after != usual || inside != n+1 {
			t.Errorf("a list of %d: slices of %v afterwards, want %v as before, %d lines", c.length, after, usual, inside)
		}
	}
}
