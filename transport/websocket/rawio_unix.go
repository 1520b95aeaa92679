//go:build unix

package websocket

import (
	"fmt"
	"io"
	"net"
	"syscall"
)

// rawConnOf returns the handle for reads and writes that never block the thread; nil for a
// connection that is not a TCP socket.
func rawConnOf(nc net.Conn) syscall.RawConn {
	if raw, ok := nc.(interface{ rawConn() syscall.RawConn }); ok {
		return raw.rawConn()
	}
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

// rawRead reads from a socket that has a raw handle. Only the reader goroutine uses it.
type rawRead struct {
	into    []byte
	n       int
	err     error
	attempt func(fd uintptr) bool // readOnce, made once
}

// readSocket reads once into b, which is not empty, and waits until there is something.
func (c *Conn) readSocket(b []byte) (int, error) {
	if c.raw == nil {
		return c.nc.Read(b)
	}
	r := &c.in.raw
	if r.attempt == nil {
		r.attempt = r.readOnce
	}
	r.into, r.n, r.err = b, 0, nil
	err := c.raw.Read(r.attempt)
	r.into = nil
	switch {
	case err != nil:
		return 0, err
	case r.err != nil:
		return 0, r.err
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// readOnce is the callback of readSocket. False waits until the socket is readable.
func (r *rawRead) readOnce(fd uintptr) bool {
	for {
		n, err := readNonblock(int(fd), r.into)
		switch err {
		case nil:
			r.n = n
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		default:
			r.err = fmt.Errorf("read: %w", err)
		}
		return true
	}
}
