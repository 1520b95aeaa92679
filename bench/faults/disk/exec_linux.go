//go:build amd64 || arm64

package disk

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The system calls that the filter passes to the parent.
var (
	syncs  = []uint32{unix.SYS_FSYNC, unix.SYS_FDATASYNC}
	writes = []uint32{unix.SYS_PWRITE64, unix.SYS_FTRUNCATE, unix.SYS_FALLOCATE}
)

// Exec replaces this process by the program argv. argv[0] is its path. The file calls of the program go to the Disk
// that listens on the socket. Exec returns only on error.
func Exec(socket string, argv []string) error {
	runtime.LockOSThread() // the filter applies to the thread that executes the program
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return err
	}
	filter, err := install()
	if err != nil {
		return errors.Join(ErrUnsupported, err)
	}
	if _, _, err := conn.WriteMsgUnix([]byte{1}, unix.UnixRights(filter), nil); err != nil {
		return err
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // wait until the parent has received the filter
		return err
	}
	if err := syscall.Exec(argv[0], argv, os.Environ()); err != nil {
		return fmt.Errorf("execute %s: %w", argv[0], err)
	}
	return nil
}

// install adds the filter to this thread and returns the descriptor for its notifications.
func install() (int, error) {
	const loadWord = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	calls := append(append([]uint32(nil), syncs...), writes...)
	program := []unix.SockFilter{
		{Code: loadWord, K: 4}, // seccomp_data.arch
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: 1, K: auditArch},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		{Code: loadWord, K: 0}, // seccomp_data.nr
	}
	for i, call := range calls {
		program = append(program, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: uint8(len(calls) - i), K: call})
	}
	program = append(program,
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_USER_NOTIF})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	what := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	// With SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (Linux 5.19), signals do not interrupt a call that waits for its
	// answer. Older kernels get the filter without that flag.
	for _, flags := range []uintptr{unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER} {
		fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&what)))
		if errno == 0 {
			return int(fd), nil
		}
		if errno != unix.EINVAL {
			return 0, errno
		}
	}
	return 0, unix.EINVAL
}
