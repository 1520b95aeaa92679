//go:build !unix

package websocket

import (
	"net"
	"syscall"

	"troupe/transport"
)

// peek does not look: every connection counts as one that has spoken.
func peek(*net.TCPConn) transport.Presence { return transport.PeerSpoke }

// rawConnOf returns nil: without unix there is no write that never waits, and
// all writing is done by the connection's writer goroutine.
func rawConnOf(net.Conn) syscall.RawConn { return nil }

func (s *scratch) try(syscall.RawConn) (n int, err error) { return 0, nil }

func (s *scratch) writeOnce(uintptr) {}

type rawRead struct{}

func (c *Conn) readSocket(b []byte) (lent []byte, n int, err error) {
	n, err = c.nc.Read(b)
	return nil, n, err
}
