//go:build !linux

package websocket

import (
	"errors"
	"syscall"
	"time"
)

// progressOf knows nothing: what is written counts as received.
func progressOf(syscall.RawConn) (p progress, ok bool) { return p, false }

// setUserTimeout does nothing: only Linux has TCP_USER_TIMEOUT. The write
// timeout and the pings of the layer above find a silent peer here.
func setUserTimeout(syscall.RawConn, time.Duration) error { return nil }

// setSendBuffer does nothing: what accepted sockets inherit is certain on Linux only.
func setSendBuffer(uintptr, int) error { return errors.ErrUnsupported }
