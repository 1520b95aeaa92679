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
	// unreadEvery is how long an answer of the kernel is reused, because thousands of connections may ask at the same time.
	unreadEvery = time.Millisecond
	// behindBytes is how much memory unread datagrams take when the reader is behind: about a hundred small datagrams.
	behindBytes = 96 << 10
)

// arrivals asks the kernel whether the reader of a socket is behind.
type arrivals struct {
	raw syscall.RawConn
	ask func(fd uintptr) // the method once, bound once so that it allocates nothing

	mu     sync.Mutex
	at     time.Time
	waits  bool
	memory [9]uint32 // SO_MEMINFO; the first value is the memory of unread datagrams
}

// newArrivals returns the arrivals of a socket, or nil if it is not a kernel socket.
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

// unread reports whether many datagrams are unread, as of at most unreadEvery ago.
func (i *arrivals) unread() bool {
	if i == nil {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if now := time.Now(); now.Sub(i.at) >= unreadEvery {
		i.at, i.waits = now, false
		_ = i.raw.Control(i.ask) // a closed socket has no unread datagrams
	}
	return i.waits
}
