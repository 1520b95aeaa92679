//go:build unix

package dtls

import (
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// rawSender tries each send once. If the kernel's buffer is full, the datagram is lost, as on the
// network. Package net would wait instead.
type rawSender struct {
	raw      syscall.RawConn
	ipv6     bool // an IPv6 socket, which takes IPv4 addresses in their mapped form
	attempts sync.Pool
}

// attempt is one send. It is pooled together with its callback, so that sending does not allocate.
type attempt struct {
	b     []byte
	four  syscall.SockaddrInet4
	six   syscall.SockaddrInet6
	to    syscall.Sockaddr
	err   error
	write func(fd uintptr) bool
}

func newRawSender(conn *net.UDPConn) sender {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	s := &rawSender{raw: raw}
	var family error
	err = raw.Control(func(fd uintptr) {
		var name syscall.Sockaddr
		if name, family = syscall.Getsockname(int(fd)); family == nil {
			_, s.ipv6 = name.(*syscall.SockaddrInet6)
		}
	})
	if err != nil || family != nil {
		return nil
	}
	s.attempts.New = func() any {
		a := new(attempt)
		a.write = a.once
		return a
	}
	return s
}

func (s *rawSender) send(b []byte, to netip.AddrPort) bool {
	zone := 0 // zone index of a link-local address
	if name := to.Addr().Zone(); name != "" {
		link, err := net.InterfaceByName(name)
		if err != nil {
			return false
		}
		zone = link.Index
	}
	a := s.attempts.Get().(*attempt)
	a.b = b
	if s.ipv6 {
		a.six.Port, a.six.Addr, a.six.ZoneId = int(to.Port()), to.Addr().As16(), uint32(zone)
		a.to = &a.six
	} else {
		a.four.Port, a.four.Addr = int(to.Port()), to.Addr().As4()
		a.to = &a.four
	}
	err := s.raw.Write(a.write)
	ok := err == nil && a.err == nil
	a.b, a.err = nil, nil
	s.attempts.Put(a)
	return ok
}

// once is the callback of RawConn.Write. It always returns true, so that RawConn.Write never waits.
func (a *attempt) once(fd uintptr) bool {
	for {
		if a.err = syscall.Sendto(int(fd), a.b, 0, a.to); a.err != syscall.EINTR {
			return true
		}
	}
}
