package thread

import (
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// slice is the longest time slice that the system accepts.
	slice = 100 * time.Millisecond
	// short is how long a call may run before its time slices become long. Most calls end before that, and the change
	// takes two microseconds.
	short = 500 * time.Microsecond
)

// usual returns how the process's threads are scheduled. It returns nil if their policy is not the normal one; such a
// policy is not changed.
var usual = sync.OnceValue(func() *unix.SchedAttr {
	attr, err := unix.SchedGetAttr(0, 0)
	if err != nil || attr.Policy != unix.SCHED_NORMAL {
		return nil
	}
	attr.Runtime = 0 // use the system's default time slice
	return attr
})

// Long calls f, which may run for a long time. After half a millisecond it gives f's thread long time slices. The
// thread then gets as much CPU time as before, but a thread that wakes up and has slices of the usual length runs at
// once instead of a few milliseconds later. Long needs no privileges and is safe for concurrent use. It does not
// recover a panic of f.
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

// call is one call of Long.
type call struct {
	thread int
	mu     sync.Mutex
	// The mutex mu guards the following fields.
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
