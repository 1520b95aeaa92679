package websocket

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// socket is a TCP socket that is registered with an event loop, not with Go's poller. It is the
// net.Conn and the syscall.RawConn of its connection.
type socket struct {
	fd   int
	refs atomic.Int64 // users of fd, and socketClosed once Close was called
	loop *loop
	slot int32 // index in loop.slots

	mu sync.Mutex
	// guarded by mu
	interest uint32        // events that are registered; 0: the socket is not
	attached bool          // the loop reads; this is one of refs
	conn     *Conn         // set by attach
	in, out  chan struct{} // closed when a goroutine that waits to read or write should try again
	deadline *time.Time    // of writes; nil without one
}

// socketClosed is added to socket.refs by Close. The last user closes the descriptor.
const socketClosed = 1 << 40

var (
	_ net.Conn        = (*socket)(nil)
	_ syscall.RawConn = (*rawSocket)(nil)
)

// rawSocket is the handle of a socket for calls that do not wait.
type rawSocket socket

// Control implements syscall.RawConn.
func (s *rawSocket) Control(f func(fd uintptr)) error { return (*socket)(s).control(f) }

// Read implements syscall.RawConn. Nobody needs it.
func (*rawSocket) Read(func(fd uintptr) bool) error { return errors.ErrUnsupported }

// Write implements syscall.RawConn. Nobody needs it.
func (*rawSocket) Write(func(fd uintptr) bool) error { return errors.ErrUnsupported }

func (s *socket) retain() error {
	if s.refs.Add(1) > socketClosed {
		s.release()
		return net.ErrClosed
	}
	return nil
}

func (s *socket) release() {
	if s.refs.Add(-1) == socketClosed {
		s.closeNow()
	}
}

// closeNow closes the descriptor: nobody uses it any more.
func (s *socket) closeNow() {
	if !s.refs.CompareAndSwap(socketClosed, 2*socketClosed) {
		return // a late user, who was refused, has come and gone meanwhile
	}
	s.loop.forget(s)
	_ = unix.Close(s.fd) // leaves the epoll set with it
}

// Close implements net.Conn. If an event loop reads, it notices that the connection has ended.
func (s *socket) Close() error {
	for {
		refs := s.refs.Load()
		if refs >= socketClosed {
			return net.ErrClosed
		}
		if s.refs.CompareAndSwap(refs, refs+socketClosed+1) { // and uses it itself
			break
		}
	}
	s.mu.Lock()
	if s.attached {
		_ = unix.Shutdown(s.fd, unix.SHUT_RDWR) // an event for the loop
	}
	s.wakeLocked(&s.in)
	s.wakeLocked(&s.out)
	s.mu.Unlock()
	s.release()
	return nil
}

// control calls f with the descriptor, which stays open meanwhile.
func (s *socket) control(f func(fd uintptr)) error {
	if err := s.retain(); err != nil {
		return err
	}
	defer s.release()
	f(uintptr(s.fd))
	return nil
}

// readNow reads once. The error is errDrained if there is nothing to read.
func (s *socket) readNow(b []byte) (int, error) {
	if err := s.retain(); err != nil {
		return 0, err
	}
	defer s.release()
	for {
		n, err := readNonblock(s.fd, b)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, errDrained
		case err != nil:
			return 0, fmt.Errorf("read: %w", err)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// Read implements net.Conn. It waits for input, which only a connection without an event loop may
// do.
func (s *socket) Read(b []byte) (int, error) {
	if err := s.retain(); err != nil {
		return 0, err
	}
	defer s.release()
	for {
		n, err := s.readNow(b)
		if err != errDrained {
			return n, err
		}
		if err := s.wait(&s.in, nil); err != nil {
			return 0, err
		}
	}
}

// Write implements net.Conn.
func (s *socket) Write(b []byte) (n int, err error) {
	if err := s.retain(); err != nil {
		return 0, err
	}
	defer s.release()
	s.mu.Lock()
	deadline := s.deadline
	s.mu.Unlock()
	for n < len(b) {
		m, err := writeNonblock(s.fd, b[n:])
		switch err {
		case nil:
			n += m
		case syscall.EINTR:
		case syscall.EAGAIN:
			if err := s.wait(&s.out, deadline); err != nil {
				return n, err
			}
		default:
			if s.refs.Load() >= socketClosed {
				return n, net.ErrClosed
			}
			return n, fmt.Errorf("write: %w", err)
		}
	}
	return n, nil
}

// wait waits for an event of the slot, which is &s.in or &s.out. One goroutine at a time may wait
// for each, and holds one of refs.
func (s *socket) wait(slot *chan struct{}, deadline *time.Time) error {
	var late <-chan time.Time
	if deadline != nil {
		timer := time.NewTimer(time.Until(*deadline))
		defer timer.Stop()
		late = timer.C
	}
	ready := make(chan struct{})
	s.mu.Lock()
	if s.refs.Load() >= socketClosed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	*slot = ready
	err := s.registerLocked()
	if err != nil {
		*slot = nil
	}
	s.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case <-ready:
		return nil
	case <-late:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if *slot == ready {
		*slot = nil
	}
	_ = s.registerLocked()
	return os.ErrDeadlineExceeded
}

// wakeLocked wakes the goroutine that waits in a slot.
func (s *socket) wakeLocked(slot *chan struct{}) {
	if *slot != nil {
		close(*slot)
		*slot = nil
	}
}

// registerLocked registers the events that somebody waits for. The caller holds mu and one of refs.
func (s *socket) registerLocked() error {
	want := uint32(0)
	if s.attached || s.in != nil {
		want |= unix.EPOLLIN
	}
	if s.out != nil {
		want |= unix.EPOLLOUT
	}
	if want == s.interest {
		return nil
	}
	op := unix.EPOLL_CTL_MOD
	switch {
	case want == 0:
		op = unix.EPOLL_CTL_DEL // errors and ends are reported without being asked for
	case s.interest == 0:
		op = unix.EPOLL_CTL_ADD
	}
	if err := s.loop.control(op, s, want); err != nil {
		return err
	}
	s.interest = want
	return nil
}

// onEvent wakes who waits for an event, and reports whether the loop is to read.
func (s *socket) onEvent(events uint32) (read bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.attached { // else it holds one of refs
		if s.retain() != nil {
			return false
		}
		defer s.release()
	}
	const ended = unix.EPOLLHUP | unix.EPOLLERR
	if events&(unix.EPOLLOUT|ended) != 0 {
		s.wakeLocked(&s.out)
	}
	if events&(unix.EPOLLIN|ended) != 0 {
		read = s.attached
		s.wakeLocked(&s.in)
	}
	_ = s.registerLocked()
	return read
}

// attach lets the event loop read for c.
func (s *socket) attach(c *Conn) error {
	if err := s.retain(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refs.Load() >= socketClosed {
		defer s.release()
		return net.ErrClosed
	}
	s.conn, s.attached = c, true
	err := s.registerLocked()
	if err != nil {
		s.attached = false
		defer s.release()
	}
	return err
}

// detach ends what attach began, if that is not done already.
func (s *socket) detach() {
	s.mu.Lock()
	was := s.attached
	s.attached = false
	if was {
		_ = s.registerLocked()
	}
	s.mu.Unlock()
	if was {
		s.release()
	}
}

// CloseWrite ends the output.
func (s *socket) CloseWrite() error {
	return s.control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
}

// SetLinger is that of net.TCPConn.
func (s *socket) SetLinger(sec int) error {
	return s.control(func(fd uintptr) {
		_ = unix.SetsockoptLinger(int(fd), unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: int32(sec)})
	})
}

// SetWriteDeadline implements net.Conn. It does not affect a Write that waits already.
func (s *socket) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = nil
	if !t.IsZero() {
		s.deadline = &t
	}
	return nil
}

// LocalAddr implements net.Conn. It is not known.
func (s *socket) LocalAddr() net.Addr { return nil }

// RemoteAddr implements net.Conn. Conn.RemoteAddr knows it.
func (s *socket) RemoteAddr() net.Addr { return nil }

// SetDeadline implements net.Conn.
func (s *socket) SetDeadline(t time.Time) error { return s.SetWriteDeadline(t) }

// SetReadDeadline implements net.Conn. Reads have no deadline.
func (s *socket) SetReadDeadline(time.Time) error { return errors.ErrUnsupported }

func (s *socket) rawConn() syscall.RawConn { return (*rawSocket)(s) }
