//go:build !linux

package websocket

import (
	"errors"
	"net"
	"syscall"
	"time"

	"troupe/transport"
)

// progressOf returns false, because the kernel is not asked here. Written bytes then count as received.
func progressOf(syscall.RawConn) (p progress, ok bool) { return p, false }

// setUserTimeout does nothing: only Linux has TCP_USER_TIMEOUT.
func setUserTimeout(syscall.RawConn, time.Duration) error { return nil }

// setSendBuffer does nothing. Only Linux guarantees that accepted sockets inherit the size.
func setSendBuffer(uintptr, int) error { return errors.ErrUnsupported }

// peek always returns PeerSpoke, because it cannot look at the input. So a silent connection is not
// evicted while others wait for admission.
func peek(*net.TCPConn) transport.Presence { return transport.PeerSpoke }

// rawConnOf returns nil. The connection's writer goroutine then does all writing.
func rawConnOf(net.Conn) syscall.RawConn { return nil }

func (s *scratch) try(syscall.RawConn) (n int, err error) { return 0, nil }

func (s *scratch) writeOnce(uintptr) {}

type rawRead struct{}

func (c *Conn) readSocket(b []byte) (lent []byte, n int, err error) {
	n, err = c.nc.Read(b)
	return nil, n, err
}
