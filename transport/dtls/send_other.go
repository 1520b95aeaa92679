//go:build !unix

package dtls

import "net"

// newRawSender returns nil: only unix has a write that never waits, and writes to a UDP socket
// rarely wait.
func newRawSender(*net.UDPConn) sender { return nil }
