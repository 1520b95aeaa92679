//go:build !unix

package dtls

import "net"

// newRawSender returns nil: without unix there is no attempt that never waits,
// and a UDP socket rarely does.
func newRawSender(*net.UDPConn) sender { return nil }
