package transport

import (
	"context"
	"net"
	"net/netip"
)

// PacketConn is what a transport needs of a UDP socket, such as a *net.UDPConn.
type PacketConn interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	WriteToUDPAddrPort(b []byte, addr netip.AddrPort) (int, error)
	LocalAddr() net.Addr
	Close() error
}

// Network opens sockets. Its methods are those of package net, and may be called from any goroutine. Where a Network is an option,
// nil means the operating system's, with the socket options that a transport wants.
type Network interface {
	Listen(network, address string) (net.Listener, error)
	ListenPacket(network, address string) (PacketConn, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}
