//go:build !linux

package websocket

import (
	"errors"
	"net"
	"syscall"
	"time"

	"troupe/transport"
)

// progressOf knows nothing: what is written counts as received.
func progressOf(syscall.RawConn) (p progress, ok bool) { return p, false }

// setUserTimeout does nothing: only Linux has TCP_USER_TIMEOUT.
func setUserTimeout(syscall.RawConn, time.Duration) error { return nil }

// setSendBuffer does nothing: what accepted sockets inherit is certain on Linux only.
func setSendBuffer(uintptr, int) error { return errors.ErrUnsupported }

// peek does not look: every connection counts as one that has spoken, so none that is silent gives way while others wait to be admitted.
func peek(*net.TCPConn) transport.Presence { return transport.PeerSpoke }

// rawConnOf returns nil: the connection's writer goroutine does all writing.
func rawConnOf(net.Conn) syscall.RawConn { return nil }

func (s *scratch) try(syscall.RawConn) (n int, err error) { return 0, nil }

func (s *scratch) writeOnce(uintptr) {}

type rawRead struct{}

func (c *Conn) readSocket(b []byte) (lent []byte, n int, err error) {
	n, err = c.nc.Read(b)
	return nil, n, err
}
