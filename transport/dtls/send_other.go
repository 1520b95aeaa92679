//go:build !unix

package dtls

import "net"

// newRawSender returns nil: only unix has a send that never waits.
func newRawSender(*net.UDPConn) sender { return nil }
