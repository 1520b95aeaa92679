//go:build !unix

package websocket

import (
	"net"
	"syscall"
)

// rawConnOf returns nil: without unix there is no write that never waits, and
// all writing is done by the connection's writer goroutine.
func rawConnOf(net.Conn) syscall.RawConn { return nil }

func (s *scratch) try(syscall.RawConn) (n int, err error) { return 0, nil }

func (s *scratch) writeOnce(uintptr) {}

type rawRead struct{}

func (c *Conn) readSocket(b []byte) (int, error) { return c.nc.Read(b) }
