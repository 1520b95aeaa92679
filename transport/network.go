package transport

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// PacketConn is what a transport needs of a UDP socket, such as a *net.UDPConn.
type PacketConn interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	WriteToUDPAddrPort(b []byte, addr netip.AddrPort) (int, error)
	LocalAddr() net.Addr
	Close() error
}

// Pauses after failed reads of datagrams. The first few in a row are tried again at once: some platforms report an ICMP error as one.
const (
	ReadFailuresFree = 8
	ReadFailurePause = 10 * time.Millisecond
)

// ReadDatagrams passes each datagram of a socket to take, as much of it as fits buf, until the socket is closed or done is. Its
// address has no IPv4 in IPv6 form.
func ReadDatagrams(conn PacketConn, buf []byte, done <-chan struct{}, take func(from netip.AddrPort, datagram []byte)) {
	for failures := 0; ; {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil || n == len(buf): // Windows also returns an error for a datagram that is cut off
			failures = 0
			take(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), buf[:n])
		case errors.Is(err, net.ErrClosed):
			return
		default:
			if failures++; failures <= ReadFailuresFree {
				continue
			}
			select {
			case <-time.After(ReadFailurePause):
			case <-done:
				return
			}
		}
	}
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
