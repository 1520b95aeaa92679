package memnet

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	"troupe/transport"
)

// Machine opens sockets by textual addresses, like package net. It owns every address of the network. It
// implements transport.Network, and the networks of package stock and of the Go client. The only known host
// name is localhost; service names for ports are not known.
type Machine struct{ n *Network }

// Machine returns the network in the form of one machine that owns all its addresses.
func (n *Network) Machine() Machine { return Machine{n} }

// Listen opens a listener. Port 0 selects a free port. If the host is empty or unspecified, the listener
// accepts connections to all addresses.
func (m Machine) Listen(network, address string) (net.Listener, error) {
	at, err := resolve(network, address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	l, err := m.n.listen(at)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// ListenPacket opens a datagram socket. The address has the same meaning as for Listen.
func (m Machine) ListenPacket(network, address string) (transport.PacketConn, error) {
	c, err := m.listenPacket(network, address)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// ListenUDP is ListenPacket for UDP, with the methods of a net.PacketConn.
func (m Machine) ListenUDP(address string) (net.PacketConn, error) {
	c, err := m.listenPacket("udp", address)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (m Machine) listenPacket(network, address string) (*PacketConn, error) {
	at, err := resolve(network, address)
	if err != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Err: err}
	}
	return m.n.openPacket(at, netip.AddrPort{})
}

// DialContext opens a stream (tcp), or a datagram socket that is connected to one peer (udp), from the
// loopback address.
func (m Machine) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	return m.Dial(ctx, network, netip.Addr{}, address)
}

// DialFrom is DialContext with a local IP address. An empty one means the loopback address.
func (m Machine) DialFrom(ctx context.Context, network, local, address string) (net.Conn, error) {
	var from netip.Addr
	if local != "" {
		var err error
		if from, err = netip.ParseAddr(local); err != nil {
			return nil, &net.OpError{Op: "dial", Net: network, Err: err}
		}
	}
	return m.Dial(ctx, network, from, address)
}

// Dial is DialContext with a local address. An invalid one means the loopback address.
func (m Machine) Dial(ctx context.Context, network string, local netip.Addr, address string) (net.Conn, error) {
	to, err := resolve(network, address)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: err}
	}
	if to.Addr().IsUnspecified() {
		to = netip.AddrPortFrom(loopbackOf(to.Addr()), to.Port())
	}
	if local = local.Unmap(); !local.IsValid() {
		local = loopbackOf(to.Addr())
	}
	if isUDP(network) {
		return m.n.dialPacket(local, to)
	}
	s, err := m.n.dial(ctx, local, to)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func isUDP(network string) bool { return network == "udp" || network == "udp4" || network == "udp6" }

// resolve parses host:port. An empty host means the unspecified IPv6 address, which accepts IPv4 as well.
func resolve(network, address string) (netip.AddrPort, error) {
	host, service, err := net.SplitHostPort(address)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return netip.AddrPort{}, &net.AddrError{Err: "invalid port", Addr: address}
	}
	switch {
	case host == "localhost":
		return netip.AddrPortFrom(loopbackOf(netip.IPv4Unspecified()), uint16(port)), nil
	case host == "" && network[len(network)-1] != '4':
		return netip.AddrPortFrom(netip.IPv6Unspecified(), uint16(port)), nil
	case host == "":
		return netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(port)), nil
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.AddrPort{}, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return netip.AddrPortFrom(ip.Unmap(), uint16(port)), nil
}

// loopbackOf returns the loopback address of the family of a.
func loopbackOf(a netip.Addr) netip.Addr {
	if a.Is6() {
		return netip.IPv6Loopback()
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, 1})
}

// socketAt returns the socket that receives what is sent to an address: the socket bound to that address, or
// one bound to all addresses.
func socketAt[S any](sockets map[netip.AddrPort]*S, to netip.AddrPort) *S {
	for _, ip := range [...]netip.Addr{to.Addr(), netip.IPv6Unspecified(), netip.IPv4Unspecified()} {
		if s := sockets[netip.AddrPortFrom(ip, to.Port())]; s != nil && (ip != netip.IPv4Unspecified() || to.Addr().Is4()) {
			return s
		}
	}
	return nil
}
