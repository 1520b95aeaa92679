package hosttest

import (
	"context"
	"net"
	"net/netip"

	"troupe/transport"
)

// System is the operating system's network. It is for tests with other processes, and for behaviour that only
// a kernel has. A host on it sets its socket options itself.
var System Network = system{transport.System}

type system struct{ transport.Network }

func (system) ListenUDP(address string) (net.PacketConn, error) {
	return net.ListenPacket("udp", address)
}

func (s system) DialFrom(ctx context.Context, network, local, address string) (net.Conn, error) {
	from, err := netip.ParseAddr(local)
	if err != nil && local != "" {
		return nil, err
	}
	return s.Dial(ctx, network, from, address)
}

func (system) Dial(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error) {
	var d net.Dialer
	switch at := netip.AddrPortFrom(local, 0); {
	case !local.IsValid():
	case network == "udp":
		d.LocalAddr = net.UDPAddrFromAddrPort(at)
	default:
		d.LocalAddr = net.TCPAddrFromAddrPort(at)
	}
	return d.DialContext(ctx, network, address)
}
