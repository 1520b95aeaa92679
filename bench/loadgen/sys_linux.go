package loadgen

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleepPrecisely sleeps in the kernel. The runtime's own timers wake up to a millisecond late on an idle machine,
// because epoll_wait has a resolution of one millisecond. That delay would appear as latency of the server.
//
// A short sleep keeps its processor of the Go scheduler. Otherwise the scheduler would take the processor away and
// later assign another one, which means a thread switch each time.
func sleepPrecisely(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	if d > keepMax {
		_ = unix.Nanosleep(&ts, nil) // waking early is fine: the caller checks the time
		return
	}
	_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// keepMax is the longest sleep that keeps its processor. It is therefore also the longest delay that such a sleep can
// cause to a garbage collection.
const keepMax = time.Millisecond

// bindNoPort makes the kernel choose the source port at connect time instead of at bind time. The port then only has to
// be unique for the whole four-tuple.
func bindNoPort(_, _ string, raw syscall.RawConn) error {
	var err error
	if cerr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	}); cerr != nil {
		return cerr
	}
	return err
}
