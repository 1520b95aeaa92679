//go:build !linux

package websocket

import (
	"errors"
	"net"
	"syscall"

	"troupe/transport"
)

// pollers reports whether there are event loops.
const pollers = false

// poller and socket do not exist here: Engine.Check refuses EngineEpoll.
type (
	poller struct{}
	socket struct{ net.Conn }
	worker struct{}
)

var errNoPoller = errors.New("websocket: no epoll")

func newPoller(func() transport.Batch) (*poller, error) { return nil, errNoPoller }

func (*poller) adopt(net.Conn) (*socket, error) { return nil, errNoPoller }
func (*poller) retain()                         {}
func (*poller) release()                        {}

func (*socket) rawConn() syscall.RawConn    { return nil }
func (*socket) attach(*Conn) error          { return errNoPoller }
func (*socket) readNow([]byte) (int, error) { return 0, errNoPoller }

// WillBlock implements transport.Looped.
func (c *Conn) WillBlock() {}

// Batch implements transport.Looped.
func (c *Conn) Batch() transport.Batch { return nil }
