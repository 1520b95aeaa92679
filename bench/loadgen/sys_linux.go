package loadgen

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// sleepPrecisely sleeps in the kernel. The runtime's own timers wake up to a millisecond late on an idle machine
// (epoll_wait counts milliseconds), which would show as latency of the server.
func sleepPrecisely(d time.Duration) {
	ts := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&ts, nil) // waking early is fine: the caller looks at the clock
}

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
