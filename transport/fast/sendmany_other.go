//go:build !linux

package fast

func newSender(conn packetConn) sender { return oneByOne{conn} }
