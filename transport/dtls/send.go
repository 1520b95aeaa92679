package dtls

import (
	"net"
	"net/netip"

	"troupe/transport"
)

// sender passes datagrams to the kernel without waiting.
type sender interface {
	// send reports whether the kernel took the datagram.
	send(b []byte, to netip.AddrPort) bool
}

// newSender returns the sender of a socket. A conn other than a *net.UDPConn (in tests) must not block by itself.
func newSender(conn transport.PacketConn) sender {
	if udp, ok := conn.(*net.UDPConn); ok {
		if s := newRawSender(udp); s != nil {
			return s
		}
	}
	return plainSender{conn}
}

type plainSender struct{ conn transport.PacketConn }

func (s plainSender) send(b []byte, to netip.AddrPort) bool {
	_, err := s.conn.WriteToUDPAddrPort(b, to)
	return err == nil
}
