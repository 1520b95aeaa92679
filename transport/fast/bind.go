package fast

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	"troupe/transport"
)

// bindFunc binds one UDP socket; buffer as Options.SocketBuffer.
type bindFunc func(network, address string, buffer int) (transport.PacketConn, error)

// binder binds the sockets of a pool. Main and further are not called
// concurrently.
type binder struct {
	bind     bindFunc
	host     string
	anyPort  bool // the main port was 0: so are the others
	buffer   int
	min, max uint16
	next     uint16 // port to try first
}

func (b *binder) main(port uint16) (transport.PacketConn, error) {
	conn, err := b.at(port)
	if err != nil {
		return nil, err // says what it did, and where
	}
	return conn, nil
}

// further binds one more port: the next free one of the range. It tries each port once.
func (b *binder) further() (transport.PacketConn, error) {
	if b.anyPort {
		return b.at(0)
	}
	for range int(b.max) - int(b.min) + 1 {
		port := b.next
		if b.next++; b.next > b.max || b.next < b.min { // the second when the range ends at 65535
			b.next = b.min
		}
		if conn, err := b.at(port); err == nil {
			return conn, nil
		}
	}
	return nil, errors.New("fast: no free port in the range")
}

// at binds a port. Without a host Go listens on both families with one socket;
// an IPv4 wildcard has to be told from that.
func (b *binder) at(port uint16) (transport.PacketConn, error) {
	network := "udp"
	if ip := net.ParseIP(b.host); ip != nil && ip.To4() != nil {
		network = "udp4"
	}
	return b.bind(network, net.JoinHostPort(b.host, strconv.Itoa(int(port))), b.buffer)
}

func bindUDP(network, address string, buffer int) (transport.PacketConn, error) {
	conn, err := new(net.ListenConfig).ListenPacket(context.Background(), network, address)
	if err != nil {
		return nil, err
	}
	udp, ok := conn.(*net.UDPConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("fast: %s is not UDP", address), conn.Close())
	}
	if buffer > 0 { // as much as the kernel allows; less is no error
		_ = udp.SetReadBuffer(buffer)
		_ = udp.SetWriteBuffer(buffer)
	}
	return udp, nil
}
