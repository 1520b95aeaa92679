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

// Network opens sockets as package net does, from any goroutine. Where a Network is an option, nil means the operating system's, with the
// socket options that a transport wants.
type Network interface {
	Listen(network, address string) (net.Listener, error)
	ListenPacket(network, address string) (PacketConn, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// System is the operating system's network, without options of sockets.
var System Network = system{new(net.Dialer)}

type system struct{ *net.Dialer }

func (system) Listen(network, address string) (net.Listener, error) {
	return net.Listen(network, address)
}

func (system) ListenPacket(network, address string) (PacketConn, error) {
	c, err := net.ListenPacket(network, address)
	if err != nil {
		return nil, err
	}
	return c.(*net.UDPConn), nil
}

// socketBuffer is asked of the kernel for each direction of a UDP socket, in bytes. It may give less.
const socketBuffer = 1 << 20

// ListenUDP binds a UDP socket with large buffers. Without a host, or with [::], it listens on both families.
func ListenUDP(address string) (PacketConn, error) {
	network := "udp"
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip := net.ParseIP(host); ip != nil && ip.To4() != nil {
			network = "udp4" // an IPv4 wildcard is not both families
		}
	}
	conn, err := System.ListenPacket(network, address)
	if err != nil {
		return nil, err // says what it did, and where
	}
	udp := conn.(*net.UDPConn)
	_ = udp.SetReadBuffer(socketBuffer)
	_ = udp.SetWriteBuffer(socketBuffer)
	return udp, nil
}
