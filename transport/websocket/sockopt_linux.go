package websocket

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// setUserTimeout lets the kernel give up on a peer that acknowledges nothing for
// d (TCP_USER_TIMEOUT), instead of after a quarter of an hour.
func setUserTimeout(raw syscall.RawConn, d time.Duration) error {
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("user timeout: %w", err)
	}
	return nil
}

// peerClosed is the event of a peer that sends no more, also behind input that is
// not read yet.
const peerClosed = unix.POLLRDHUP

// setSendBuffer sets the send buffer of a listening socket, for those that it accepts.
func setSendBuffer(fd uintptr, bytes int) error {
	return unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_SNDBUF, bytes)
}
