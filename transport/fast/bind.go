package fast

import (
	"errors"
	"net"
	"strconv"

	"troupe/transport"
)

// binder binds the sockets of a pool. Not safe for concurrent use.
type binder struct {
	bind     func(network, address string) (transport.PacketConn, error) // of an IPv4 wildcard only IPv4
	host     string
	anyPort  bool // the main port was 0: so are the others
	min, max uint16
	next     uint16 // port to try first
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

func (b *binder) at(port uint16) (transport.PacketConn, error) {
	return b.bind("udp", net.JoinHostPort(b.host, strconv.Itoa(int(port))))
}
