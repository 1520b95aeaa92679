package memnet

import (
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"
)

// Stream is one end of a TCP-like connection. It implements net.Conn.
type Stream struct {
	n             *Network
	local, remote netip.AddrPort
	in, out       *pipe

	// The fields below are guarded by the network's lock.
	reading, writing deadline
	halfClosed       bool // CloseWrite was called
	closed           bool // Close was called, or the stream was reset
	abrupt           bool // Close resets the connection
	broken           error
}

func newStreams(n *Network, a, b netip.AddrPort) (*Stream, *Stream) {
	x := &Stream{n: n, local: a, remote: b}
	y := &Stream{n: n, local: b, remote: a}
	x.out = newPipe(n, x, y)
	y.out = newPipe(n, y, x)
	x.in, y.in = y.out, x.out
	return x, y
}

func newPipe(n *Network, from, to *Stream) *pipe {
	p := &pipe{
		n: n, from: from, to: to,
		ahead: n.path(from.local.Addr(), to.local.Addr()), back: n.path(to.local.Addr(), from.local.Addr()),
	}
	p.changed.L = &n.mu
	return p
}

// Read implements net.Conn.
func (s *Stream) Read(b []byte) (int, error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	for {
		switch {
		case s.closed:
			return 0, s.failed("read", net.ErrClosed)
		case s.reading.passed():
			return 0, s.failed("read", os.ErrDeadlineExceeded)
		case len(b) == 0:
			return 0, nil
		case s.in.ready.Len() > 0:
			return s.in.read(b), nil
		case s.broken != nil:
			return 0, s.failed("read", s.broken)
		case s.in.ended:
			return 0, io.EOF
		}
		s.in.changed.Wait()
	}
}

// Write implements net.Conn. It blocks while the buffer is full.
func (s *Stream) Write(b []byte) (n int, err error) {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	for {
		switch {
		case s.closed:
			return n, s.failed("write", net.ErrClosed)
		case s.broken != nil:
			return n, s.failed("write", s.broken)
		case s.halfClosed:
			return n, s.failed("write", syscall.EPIPE)
		case s.writing.passed():
			return n, s.failed("write", os.ErrDeadlineExceeded)
		}
		if room := min(s.out.free(), len(b)-n); room > 0 {
			s.out.write(b[n : n+room])
			n += room
		}
		if n == len(b) {
			return n, nil
		}
		if s.out.free() == 0 {
			s.out.changed.Wait()
		}
	}
}

// CloseWrite ends this direction after everything that was written. The stream can still be read.
func (s *Stream) CloseWrite() error {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	switch {
	case s.closed:
		return s.failed("close", net.ErrClosed)
	case s.broken != nil:
		return s.failed("close", s.broken)
	}
	s.endOut()
	return nil
}

func (s *Stream) endOut() {
	if !s.halfClosed {
		s.halfClosed = true
		s.out.finish()
	}
}

// SetLinger works like that of a net.TCPConn: with 0, Close resets the connection.
func (s *Stream) SetLinger(seconds int) error {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.abrupt = seconds == 0
	return nil
}

// Close implements net.Conn. Written data is still delivered. If there is unread input, or after
// SetLinger(0), it resets the connection instead.
func (s *Stream) Close() error {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	switch {
	case s.closed:
		return s.failed("close", net.ErrClosed)
	case s.broken != nil:
		s.shut()
	case s.in.ready.Len() > 0 || s.abrupt:
		s.reset()
	default:
		s.shut()
		s.endOut()
	}
	return nil
}

// Reset ends the connection immediately, and drops data in transit. The peer is notified, unless its path
// loses the notification.
func (s *Stream) Reset() {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	s.reset()
}

func (s *Stream) reset() {
	if s.closed {
		return
	}
	s.shut()
	s.out.drop()
	s.refuse(s.out.ahead)
}

func (s *Stream) shut() {
	s.closed = true
	s.reading.stop()
	s.writing.stop()
	s.in.changed.Broadcast()
	s.out.changed.Broadcast()
}

// refuse sends a reset to the other end over a path. It returns false if the reset was lost.
func (s *Stream) refuse(p *Path) bool {
	peer := s.out.to
	p.sent(0)
	if p.dark() || p.hit(p.cond.Loss) {
		p.stats.Lost++
		return false
	}
	s.n.after(time.Now(), p.delay(), func(time.Time) {
		if peer.broken != nil || p.dark() {
			return
		}
		p.stats.Delivered++
		peer.broken = syscall.ECONNRESET
		peer.in.drop()
		peer.out.drop()
	})
	return true
}

// LocalAddr implements net.Conn. The result is a *net.TCPAddr.
func (s *Stream) LocalAddr() net.Addr { return net.TCPAddrFromAddrPort(s.local) }

// RemoteAddr implements net.Conn. The result is a *net.TCPAddr.
func (s *Stream) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(s.remote) }

// SetDeadline implements net.Conn.
func (s *Stream) SetDeadline(t time.Time) error {
	return s.limit(func() {
		s.reading.set(t, &s.in.changed)
		s.writing.set(t, &s.out.changed)
	})
}

// SetReadDeadline implements net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error {
	return s.limit(func() { s.reading.set(t, &s.in.changed) })
}

// SetWriteDeadline implements net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	return s.limit(func() { s.writing.set(t, &s.out.changed) })
}

func (s *Stream) limit(set func()) error {
	s.n.mu.Lock()
	defer s.n.mu.Unlock()
	if s.closed {
		return s.failed("set", net.ErrClosed)
	}
	set()
	return nil
}

func (s *Stream) failed(op string, err error) error {
	return &net.OpError{
		Op: op, Net: "tcp", Source: net.TCPAddrFromAddrPort(s.local), Addr: net.TCPAddrFromAddrPort(s.remote), Err: err,
	}
}
