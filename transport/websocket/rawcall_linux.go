package websocket

import (
	"syscall"
	"unsafe"
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
