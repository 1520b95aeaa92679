package websocket

import (
	"fmt"
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/transport"
)

// rawConnOf returns the handle for reads and writes that never block the thread. It is nil if nc is not a TCP socket.
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

// try writes as many bytes as the kernel accepts without blocking, perhaps none. It uses Control rather than Write of the handle.
// There is only one writer (outbound.writer) and it does not wait here, so Write's lock and deadline would only add latency.
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
		n, err := rawCall(syscall.SYS_WRITE, fd, s.b[s.off:])
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
	lend    bool // take a small buffer for into only when there is something to read
	n       int
	err     error
	attempt func(fd uintptr) bool // the method readOnce, bound once
}

// readSocket reads once into b and blocks until there is input. If b is nil and the connection has a raw
// handle, it returns the input in a small buffer.
func (c *Conn) readSocket(b []byte) (lent []byte, n int, err error) {
	if c.raw == nil {
		n, err = c.nc.Read(b)
		return nil, n, err
	}
	r := c.in.raw
	if r == nil {
		r = new(rawRead)
		r.attempt = r.readOnce
		c.in.raw = r
	}
	r.into, r.lend, r.n, r.err = b, b == nil, 0, nil
	err = c.raw.Read(r.attempt)
	if r.lend {
		lent = r.into
	}
	r.into = nil
	switch {
	case err != nil:
		return lent, 0, err
	case r.err != nil:
		return lent, 0, r.err
	case r.n == 0:
		return lent, 0, io.EOF
	}
	return lent, r.n, nil
}

// readOnce is the callback of readSocket. If it returns false, RawConn.Read waits until the socket is readable.
func (r *rawRead) readOnce(fd uintptr) bool {
	if r.lend {
		r.into = takeSmall()
	}
	for {
		n, err := rawCall(syscall.SYS_READ, fd, r.into)
		switch err {
		case nil:
			r.n = n
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			if r.lend {
				giveSmall(r.into)
				r.into = nil
			}
			return false
		default:
			r.err = fmt.Errorf("read: %w", err)
		}
		return true
	}
}

// peek checks for input without reading it. A connection that is not a TCP socket counts as PeerSpoke.
func peek(tcp *net.TCPConn) transport.Presence {
	if tcp == nil {
		return transport.PeerSpoke
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return transport.PeerGone
	}
	found := transport.PeerGone // the socket is closed
	_ = raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | unix.POLLRDHUP}}
		n, err := unix.Poll(fds, 0)
		switch {
		case err != nil: // the call was interrupted, so the state is not known
			found = transport.PeerSilent
		case fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL|unix.POLLRDHUP) != 0:
			found = transport.PeerGone
		case n > 0:
			found = transport.PeerSpoke
		default:
			found = transport.PeerSilent
		}
	})
	return found
}
