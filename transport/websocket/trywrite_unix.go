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

// try writes as many bytes as the kernel takes without blocking, perhaps none. It uses Control, not
// Write: only one goroutine writes at a time (outbound.writer), and nobody waits here, so the
// lock and the deadline of Write would cost a delivery time for nothing.
func (s *scratch) try(raw syscall.RawConn) (n int, err error) {
	s.n, s.err = 0, nil
	if err := raw.Control(s.attempt); err != nil {
		return 0, err
	}
	return s.n, s.err
}

// writeOnce is the callback of try.
func (s *scratch) writeOnce(fd uintptr) {
	for {
		n, err := writeNonblock(int(fd), s.b[s.off:])
		switch err {
		case nil:
			s.n = n
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			s.err = fmt.Errorf("write: %w", err)
		}
		return
	}
}
