//go:build !linux

package websocket

import (
	"syscall"
	"time"
)

// setUserTimeout does nothing: only Linux has TCP_USER_TIMEOUT. The write
// timeout and the pings of the layer above find a silent peer here.
func setUserTimeout(syscall.RawConn, time.Duration) error { return nil }
