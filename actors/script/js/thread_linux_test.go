package js

import (
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/actors/actorstest"
)

// What goes through a long list cannot be paused. So its thread has long slices of time (package thread), also after it was
// abandoned.
func TestALongListIsGoneThroughWithLongSlices(t *testing.T) {
	g := start(t, actorstest.ScriptLimits(), body(`
		onMessage(m) {
			let o = {};
			for (let i = 0; i < 1e3; i++) o = Object.create(o);
			Array.prototype.indexOf.call(Object.assign(o, { length: m.opCode }), 1);
		}`))
	slice := func(thread int) time.Duration {
		attr, err := unix.SchedGetAttr(thread, 0)
		if err != nil {
			t.Fatal(err)
		}
		return time.Duration(attr.Runtime)
	}
	during := func(length int32) (before, longest, after time.Duration) {
		done, thread := make(chan struct{}), make(chan int)
		go func() {
			defer close(done)
			runtime.LockOSThread() // and lets it end with the goroutine
			thread <- unix.Gettid()
			<-thread
			g.handler.OnMessage(message(length, ""))
			thread <- 0
			<-thread
		}()
		id := <-thread
		before = slice(id)
		thread <- 0
		for {
			longest = max(longest, slice(id))
			select {
			case <-thread:
				after = slice(id)
				close(thread)
				<-done
				return before, longest, after
			default:
			}
		}
	}
	usual, longest, after := during(longList - 1)
	if usual == 0 {
		t.Skip("the system does not tell how long slices are: Linux before 6.12, or another policy")
	}
	if longest != usual || after != usual {
		t.Errorf("a short list: slices of %v, then %v, want %v as before", longest, after, usual)
	}
	if _, longest, after = during(50_000); longest != 100*time.Millisecond || after != usual {
		t.Errorf("a long list: slices of %v, then %v, want 100ms, then %v as before", longest, after, usual)
	}
}
