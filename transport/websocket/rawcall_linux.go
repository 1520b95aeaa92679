package websocket

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// writeNonblock and readNonblock are write and read of a non-blocking socket. They never wait, so
// the scheduler need not be told of them, which costs a tenth of a microsecond each, and far more
// on a host with little to do: there each call would wake the runtime's monitor thread.

func writeNonblock(fd int, b []byte) (int, error) { return rawCall(syscall.SYS_WRITE, fd, b) }

func readNonblock(fd int, b []byte) (int, error) { return rawCall(syscall.SYS_READ, fd, b) }

func rawCall(call uintptr, fd int, b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	n, _, errno := syscall.RawSyscall(call, uintptr(fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	if errno != 0 {
		return 0, errno
	}
	return int(n), nil
}

// epollNow takes the events that are there.
func epollNow(epoll int, events []unix.EpollEvent) (int, error) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(epoll), uintptr(unsafe.Pointer(unsafe.SliceData(events))), uintptr(len(events)), 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(n), nil
}
