//go:build unix

package websocket

import (
	"fmt"
	"net"
	"syscall"
)

// rawConnOf returns the handle for non-blocking writes; nil for a connection that is not a TCP
// socket.
func rawConnOf(nc net.Conn) syscall.RawConn {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// try writes as many bytes as the kernel takes without blocking, perhaps none.
func (s *scratch) try(raw syscall.RawConn) (n int, err error) {
	s.n, s.err = 0, nil
	if err := raw.Write(s.attempt); err != nil {
		return 0, err
	}
	return s.n, s.err
}

// writeOnce is the callback of try. It always returns true, so that RawConn.Write never waits
// for the socket to become writable.
func (s *scratch) writeOnce(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), s.b[s.off:])
		switch err {
		case nil:
			s.n = n
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			s.err = fmt.Errorf("write: %w", err)
		}
		return true
	}
}
