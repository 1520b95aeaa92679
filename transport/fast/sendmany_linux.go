package fast

import (
	"errors"
	"net"
	"os"
	"syscall"
	"unsafe"

	"troupe/transport"

	"golang.org/x/sys/unix"
)

// manySender sends up to writeBatch datagrams with one sendmmsg(2). Consecutive datagrams of one size to one address
// form one message. It passes the network stack once and is then cut into the datagrams (UDP_SEGMENT, see udp(7)).
// Receivers see no difference. Only one goroutine uses a manySender.
type manySender struct {
	one     oneByOne
	raw     syscall.RawConn
	ipv6    bool // an IPv6 socket, which needs IPv4 addresses in their mapped form
	cuts    bool // the kernel can cut messages
	headers [writeBatch]messageHeader
	vectors [writeBatch]syscall.Iovec
	four    [writeBatch]syscall.RawSockaddrInet4
	six     [writeBatch]syscall.RawSockaddrInet6
	control [writeBatch]segmentSize
	counts  [writeBatch]int // number of datagrams in each message

	attempt func(fd uintptr) bool // the method once, bound once
	n       int                   // messages in the current attempt
	sent    int                   // messages that the kernel has accepted
	err     error
}

// segmentSize is a control message that says how to cut a message: struct cmsghdr followed by an uint16.
type segmentSize struct {
	header syscall.Cmsghdr
	size   uint16
	_      [6]byte
}

const (
	// segmentsMax is the maximum number of segments per message that every kernel supports.
	segmentsMax = 64
	// segmentSizeMax is the largest segment, in bytes. It fits every path with an MTU of 1280, the minimum of IPv6.
	segmentSizeMax = 1232
	// cutMax is the largest message that is cut into segments, in bytes.
	cutMax = 60_000
)

// messageHeader is the kernel's struct mmsghdr.
type messageHeader struct {
	header syscall.Msghdr
	_      uint32 // bytes sent
}

func newSender(conn transport.PacketConn) sender {
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
	if e := raw.Control(func(fd uintptr) {
		name, err = syscall.Getsockname(int(fd))
		_, no := unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT) // a kernel before 4.18 would send such a message uncut
		s.cuts = no == nil
	}); e != nil || err != nil {
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
		c := &s.control[i]
		c.header.Level, c.header.Type = unix.SOL_UDP, unix.UDP_SEGMENT
		c.header.SetLen(syscall.CmsgLen(int(unsafe.Sizeof(c.size))))
	}
	return s
}

func (s *manySender) send(b *batch, i int) (sent int, err error) {
	sent, cut, err := s.try(b, i, s.cuts)
	if err != nil && cut {
		// The device cannot cut (EIO), or the path allows only smaller packets. Nothing of that message has been sent.
		if errors.Is(err, syscall.EIO) {
			s.cuts = false
		}
		sent, _, err = s.try(b, i, false)
	}
	return sent, err
}

// try sends datagrams from index i on. If cut is true, the first message consists of several
// datagrams; an error is then about all of them.
func (s *manySender) try(b *batch, i int, cuts bool) (sent int, cut bool, err error) {
	s.n = 0
	for next := i; next < len(b.list); next += s.counts[s.n-1] {
		if !s.put(b, next, cuts) {
			break
		}
	}
	if s.n == 0 {
		sent, err = s.one.send(b, i)
		return sent, false, err
	}
	cut = s.counts[0] > 1
	s.sent, s.err = 0, nil
	if err := s.raw.Write(s.attempt); err != nil {
		return 0, cut, err
	}
	for _, n := range s.counts[:s.sent] {
		sent += n
	}
	return sent, cut, s.err
}

// put makes datagram i of b the next message of the attempt. With cuts, the message includes the following datagrams
// that can be segments of it. put returns false if the datagram must be sent separately: its address has a zone, or is
// of a family that the socket does not support.
func (s *manySender) put(b *batch, i int, cuts bool) bool {
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
	count, size, h := 1, len(bytes), &s.headers[s.n].header
	if cuts {
		count, size = b.alike(i)
	}
	h.Control = nil
	h.SetControllen(0)
	if count > 1 {
		c := &s.control[s.n]
		c.size = uint16(len(bytes))
		h.Control = (*byte)(unsafe.Pointer(c))
		h.SetControllen(syscall.CmsgSpace(int(unsafe.Sizeof(c.size))))
	}
	s.vectors[s.n].Base = unsafe.SliceData(bytes)
	s.vectors[s.n].SetLen(size)
	s.counts[s.n] = count
	s.n++
	return true
}

// alike returns how many datagrams from i on can be segments of one message, and their total size in bytes. All have
// the same size, except that the last may be shorter.
func (b *batch) alike(i int) (count, size int) {
	to, each := b.list[i].d.to, len(b.at(i))
	count, size = 1, each
	for ; each <= segmentSizeMax && i+count < len(b.list) && count < segmentsMax; count++ {
		n := len(b.at(i + count))
		if b.list[i+count].d.to != to || n == 0 || n > each || size+n > cutMax {
			break
		}
		if size += n; n < each {
			return count + 1, size
		}
	}
	return count, size
}

// once is the callback of try. If it returns false, RawConn.Write waits until the kernel has room. The socket is
// non-blocking, so the scheduler need not know of the call.
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
