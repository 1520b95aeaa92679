package dtls

import (
	"net"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// unreadEvery is how long an answer of the kernel is used: thousands of connections may ask at once.
	unreadEvery = time.Millisecond
	// behindBytes is how much memory unread datagrams take when a reader is behind: a hundred small ones or so.
	behindBytes = 96 << 10
)

// arrivals ask the kernel whether the reader of a socket is behind.
type arrivals struct {
	raw syscall.RawConn
	ask func(fd uintptr) // once, bound once, so that it allocates nothing

	mu     sync.Mutex
	at     time.Time
	waits  bool
	memory [9]uint32 // SO_MEMINFO; the first is that of unread datagrams
}

// newArrivals returns the arrivals of a socket, nil if it is none of the kernel's.
func newArrivals(conn any) *arrivals {
	udp, ok := conn.(*net.UDPConn)
	if !ok {
		return nil
	}
	raw, err := udp.SyscallConn()
	if err != nil {
		return nil
	}
	i := &arrivals{raw: raw}
	i.ask = i.once
	return i
}

func (i *arrivals) once(fd uintptr) {
	size := uint32(unsafe.Sizeof(i.memory))
	_, _, failed := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_MEMINFO, uintptr(unsafe.Pointer(&i.memory)), uintptr(unsafe.Pointer(&size)), 0)
	i.waits = failed == 0 && i.memory[0] >= behindBytes
}

// unread reports whether many datagrams wait.
func (i *arrivals) unread() bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if now := time.Now(); now.Sub(i.at) >= unreadEvery {
		i.at, i.waits = now, false
		_ = i.raw.Control(i.ask) // a closed socket has none
	}
	return i.waits
}
