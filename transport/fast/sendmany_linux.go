package fast

import (
	"net"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// manySender sends up to writeBatch datagrams with one system call, sendmmsg(2). One goroutine uses it.
type manySender struct {
	one     oneByOne
	raw     syscall.RawConn
	ipv6    bool // an IPv6 socket, which takes IPv4 addresses in their mapped form
	headers [writeBatch]messageHeader
	vectors [writeBatch]syscall.Iovec
	four    [writeBatch]syscall.RawSockaddrInet4
	six     [writeBatch]syscall.RawSockaddrInet6

	attempt func(fd uintptr) bool // once, made once
	n       int                   // datagrams of the attempt
	sent    int
	err     error
}

// messageHeader is the kernel's struct mmsghdr.
type messageHeader struct {
	header syscall.Msghdr
	_      uint32 // bytes sent
}

func newSender(conn packetConn) sender {
	one := oneByOne{conn}
	udp, ok := conn.(*net.UDPConn)
	if !ok {
		return one
	}
	raw, err := udp.SyscallConn()
	if err != nil {
		return one
	}
	s := &manySender{one: one, raw: raw}
	s.attempt = s.once
	var name syscall.Sockaddr
	if e := raw.Control(func(fd uintptr) { name, err = syscall.Getsockname(int(fd)) }); e != nil || err != nil {
		return one
	}
	_, s.ipv6 = name.(*syscall.SockaddrInet6)
	for i := range s.headers {
		h := &s.headers[i].header
		h.Iov = &s.vectors[i]
		h.Iovlen = 1
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.four[i])), syscall.SizeofSockaddrInet4
		if s.ipv6 {
			h.Name, h.Namelen = (*byte)(unsafe.Pointer(&s.six[i])), syscall.SizeofSockaddrInet6
		}
	}
	return s
}

func (s *manySender) send(b *batch, i int) (sent int, err error) {
	s.n = 0
	for ; i+s.n < len(b.list); s.n++ {
		if !s.put(b, i+s.n) {
			break
		}
	}
	if s.n == 0 {
		return s.one.send(b, i)
	}
	s.sent, s.err = 0, nil
	if err := s.raw.Write(s.attempt); err != nil {
		return 0, err
	}
	return s.sent, s.err
}

// put makes datagram i of b the next of the attempt. False: it must go by itself, to an address with a zone or of a
// family that the socket does not have.
func (s *manySender) put(b *batch, i int) bool {
	bytes, to := b.at(i), b.list[i].d.to
	ip, port := to.Addr(), [2]byte{byte(to.Port() >> 8), byte(to.Port())}
	switch {
	case len(bytes) == 0, ip.Zone() != "", !s.ipv6 && !ip.Unmap().Is4():
		return false
	case s.ipv6:
		s.six[s.n] = syscall.RawSockaddrInet6{Family: syscall.AF_INET6, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: ip.As16()}
	default:
		s.four[s.n] = syscall.RawSockaddrInet4{Family: syscall.AF_INET, Port: *(*uint16)(unsafe.Pointer(&port)), Addr: ip.Unmap().As4()}
	}
	s.vectors[s.n].Base = unsafe.SliceData(bytes)
	s.vectors[s.n].SetLen(len(bytes))
	return true
}

// once is the callback of send. False waits until the kernel has room. The socket is non-blocking, so the scheduler need
// not be told of the call.
func (s *manySender) once(fd uintptr) bool {
	for {
		n, _, errno := syscall.RawSyscall6(unix.SYS_SENDMMSG, fd, uintptr(unsafe.Pointer(&s.headers)), uintptr(s.n), 0, 0, 0)
		switch errno {
		case 0:
			s.sent = int(n)
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
			return false
		default:
			s.err = os.NewSyscallError("sendmmsg", errno)
		}
		return true
	}
}
