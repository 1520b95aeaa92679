//go:build !linux

package websocket

import (
	"net"
	"time"
)

// setUserTimeout does nothing: only Linux has TCP_USER_TIMEOUT. The write
// timeout and the pings of the layer above find a silent peer here.
func setUserTimeout(*net.TCPConn, time.Duration) error { return nil }
