//go:build unix

package websocket

import (
	"net"

	"golang.org/x/sys/unix"

	"troupe/transport"
)

// peek reports whether a connection has input, without reading it. A connection that is not a
// TCP socket counts as PeerSpoke.
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
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN | peerClosed}}
		n, err := unix.Poll(fds, 0)
		switch {
		case err != nil: // interrupted: try again
			found = transport.PeerSilent
		case fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL|peerClosed) != 0:
			found = transport.PeerGone
		case n > 0:
			found = transport.PeerSpoke
		default:
			found = transport.PeerSilent
		}
	})
	return found
}
