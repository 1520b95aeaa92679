package websocket

import (
	"errors"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// progressOf asks the kernel about a TCP connection. ok is false if the kernel cannot tell.
func progressOf(raw syscall.RawConn) (p progress, ok bool) {
	if raw == nil {
		return p, false
	}
	q := questions.Get().(*question)
	defer questions.Put(q)
	q.info, q.ok = unix.TCPInfo{}, false // older kernels fill only a part of info
	if err := raw.Control(q.look); err != nil || !q.ok {
		return p, false
	}
	return progress{q.info.Bytes_acked, q.held, time.Duration(q.info.Rtt) * time.Microsecond}, true
}

// question is one request to the kernel for a connection's progress.
type question struct {
	info unix.TCPInfo
	held int
	ok   bool
	look func(fd uintptr) // the method ask, bound once
}

var questions = sync.Pool{New: func() any {
	q := new(question)
	q.look = q.ask
	return q
}}

// ask asks the kernel. unix.GetsockoptTCPInfo would allocate the result for every ping.
func (q *question) ask(fd uintptr) {
	size := uint32(unsafe.Sizeof(q.info))
	_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&q.info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return
	}
	n, err := unix.IoctlGetInt(int(fd), unix.SIOCOUTQ)
	q.held, q.ok = n, err == nil
}

// setUserTimeout makes the kernel end a connection whose peer acknowledges nothing for d. The default is about a quarter of an hour.
func setUserTimeout(raw syscall.RawConn, d time.Duration) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
	return errors.Join(err, failed)
}

// setSendBuffer sets the send buffer of a listening socket. Accepted sockets inherit it.
func setSendBuffer(fd uintptr, bytes int) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
}

// rawCall reads from or writes to a non-blocking socket. The call never waits, so the scheduler need not know of it. Telling it
// costs a tenth of a microsecond. On an idle host it costs far more, because each call would wake the runtime's monitor thread.
func rawCall(call, fd uintptr, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, _, errno := syscall.RawSyscall(call, fd, uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}
