package dtls

import (
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// unreadEvery is how long an answer of the kernel is used: thousands of connections may ask at once.
const unreadEvery = time.Millisecond

// arrivals ask the kernel whether datagrams wait in a socket.
type arrivals struct {
	raw syscall.RawConn
	ask func(fd uintptr) // once, bound once, so that it allocates nothing

	mu    sync.Mutex
	at    time.Time
	waits bool
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
	n, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	i.waits = err == nil && n > 0
}

// unread reports whether datagrams wait.
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
