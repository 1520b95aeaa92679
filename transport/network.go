package transport

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"time"
)

// PacketConn is the part of a UDP socket, such as a *net.UDPConn, that transports use.
type PacketConn interface {
	ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error)
	WriteToUDPAddrPort(b []byte, addr netip.AddrPort) (int, error)
	LocalAddr() net.Addr
	Close() error
}

// ReadFailuresFree is how many reads of datagrams may fail in a row without a pause, because some platforms report an
// ICMP error as a failed read. Further failed reads are followed by ReadFailurePause.
const (
	ReadFailuresFree = 8
	ReadFailurePause = 10 * time.Millisecond
)

// ReadDatagrams passes each datagram of a socket to take, until the socket is closed. It cuts a datagram off if it does not fit
// buf. If done is closed, it may return early, in a pause after failed reads. IPv4 addresses are passed in their unmapped form.
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

// Network opens sockets as package net does. Its methods are safe for concurrent use. In options, a nil Network means
// the operating system's, with the socket options that the transport wants.
type Network interface {
	Listen(network, address string) (net.Listener, error)
	ListenPacket(network, address string) (PacketConn, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// System is the operating system's network, without additional socket options.
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

// socketBuffer is the requested size of a UDP socket's kernel buffer for each direction, in bytes. The kernel may grant less.
const socketBuffer = 1 << 20

// ListenUDP binds a UDP socket with large buffers. Without a host, or with [::], it serves IPv4 and IPv6.
func ListenUDP(address string) (PacketConn, error) {
	network := "udp"
	if host, _, err := net.SplitHostPort(address); err == nil {
		if ip := net.ParseIP(host); ip != nil && ip.To4() != nil {
			network = "udp4" // an IPv4 wildcard address must not serve IPv6
		}
	}
	conn, err := System.ListenPacket(network, address)
	if err != nil {
		return nil, err // it names the operation and the address
	}
	udp := conn.(*net.UDPConn)
	_ = udp.SetReadBuffer(socketBuffer)
	_ = udp.SetWriteBuffer(socketBuffer)
	return udp, nil
}
