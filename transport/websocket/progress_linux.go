package websocket

import (
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// progressOf returns how many bytes the peer's system has acknowledged, and how many the
// kernel still holds, at the TCP level. Ok is false if that is not known.
func progressOf(raw syscall.RawConn) (acked uint64, held int, ok bool) {
	if raw == nil {
		return 0, 0, false
	}
	p := progresses.Get().(*progress)
	defer progresses.Put(p)
	p.info, p.ok = unix.TCPInfo{}, false // older kernels know less of it
	if err := raw.Control(p.look); err != nil || !p.ok {
		return 0, 0, false
	}
	return p.info.Bytes_acked, p.held, true
}

// progress is what the kernel says of a socket.
type progress struct {
	info unix.TCPInfo
	held int
	ok   bool
	look func(fd uintptr) // ask
}

var progresses = sync.Pool{New: func() any {
	p := new(progress)
	p.look = p.ask
	return p
}}

// ask asks the kernel. unix.GetsockoptTCPInfo would allocate the answer, for every ping.
func (p *progress) ask(fd uintptr) {
	size := uint32(unsafe.Sizeof(p.info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&p.info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return
	}
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	p.held, p.ok = n, err == nil
}

// roundTripOf returns the kernel's estimate of the round trip, 0 if it has none.
func roundTripOf(raw syscall.RawConn) time.Duration {
	if raw == nil {
		return 0
	}
	p := progresses.Get().(*progress)
	defer progresses.Put(p)
	p.info, p.ok = unix.TCPInfo{}, false
	if err := raw.Control(p.look); err != nil || !p.ok {
		return 0
	}
	return time.Duration(p.info.Rtt) * time.Microsecond
}
