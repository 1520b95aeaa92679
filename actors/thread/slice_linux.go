package thread

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// slice is the longest that the system takes.
	slice = 100 * time.Millisecond
	// short is how long a call may take before its slices become long: most end before, and a change takes two microseconds.
	short = 500 * time.Microsecond
)

// usual is how the process's threads are scheduled; nil: in a way of its own, which is not changed.
var usual = sync.OnceValue(func() *unix.SchedAttr {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return nil
	}
	attr.Runtime = 0 // as long as the system likes
	return attr
})

// Long calls f, which may run for long. From half a millisecond on its thread has slices of time that are long, as the system understands
// it: the thread gets as much time as before, but a thread that wakes up, and has slices of the usual length, runs at once
// instead of a few milliseconds later. It needs no rights. Safe for concurrent use. A panic of f goes on.
//
// Source: sched_setattr(2), sched_runtime of SCHED_OTHER (EEVDF, Linux 6.12).
func Long(f func()) {
	if usual() == nil {
		f()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	c := &call{thread: unix.Gettid()}
	timer := time.AfterFunc(short, c.lengthen)
	defer c.end(timer)
	f()
}

// call is one of Long.
type call struct {
	thread int
	mu     sync.Mutex
	// guarded by mu
	ended, long bool
}

func (c *call) lengthen() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	attr := *usual()
	attr.Runtime = uint64(slice)
	c.long = unix.SchedSetAttr(c.thread, &attr, 0) == nil
}

func (c *call) end(timer *time.Timer) {
	timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	if c.long {
		attr := *usual()
		_ = unix.SchedSetAttr(c.thread, &attr, 0)
	}
}
