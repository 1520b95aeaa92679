//go:build !linux

package fast

import "troupe/transport"

func newSender(conn transport.PacketConn) sender { return oneByOne{conn} }
