//go:build !unix

package dtls

import "net"

// newRawSender returns nil: only unix has a write that never waits.
func newRawSender(*net.UDPConn) sender { return nil }
