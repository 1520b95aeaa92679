package loadgen

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sleepPrecisely sleeps in the kernel. The runtime's own timers wake up to a millisecond late on an idle machine
// (epoll_wait counts milliseconds), which would show as latency of the server.
//
// A short sleep keeps its processor of the Go scheduler: otherwise the scheduler would take it away and give
// another one back each time, which switches threads.
func sleepPrecisely(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	if d > keepMax {
		_ = unix.Nanosleep(&ts, nil) // waking early is fine: the caller looks at the clock
		return
	}
	_, _, _ = syscall.RawSyscall(unix.SYS_NANOSLEEP, uintptr(unsafe.Pointer(&ts)), 0, 0)
}

// keepMax is the longest sleep that keeps its processor, so the longest delay of a garbage collection, too.
const keepMax = time.Millisecond

// bindNoPort lets the kernel choose the port of a bound source address at connect time, by the whole four-tuple.
func bindNoPort(_, _ string, raw syscall.RawConn) error {
	var err error
	if cerr := raw.Control(func(fd uintptr) {
		err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1)
	}); cerr != nil {
		return cerr
	}
	return err
}
