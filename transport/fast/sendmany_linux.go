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

// manySender sends up to writeBatch datagrams with one sendmmsg(2). Consecutive ones of one size to one address are one message,
// which passes the network stack once and is then cut (UDP_SEGMENT of udp(7)). What arrives is the same. One goroutine uses it.
type manySender struct {
	one     oneByOne
	raw     syscall.RawConn
	ipv6    bool // an IPv6 socket, which takes IPv4 addresses in their mapped form
	cuts    bool // the kernel can cut messages
	headers [writeBatch]messageHeader
	vectors [writeBatch]syscall.Iovec
	four    [writeBatch]syscall.RawSockaddrInet4
	six     [writeBatch]syscall.RawSockaddrInet6
	control [writeBatch]segmentSize
	counts  [writeBatch]int // datagrams of each message

	attempt func(fd uintptr) bool // once, made once
	n       int                   // messages of the attempt
	sent    int                   // of those
	err     error
}

// segmentSize is a control message, struct cmsghdr with an uint16, that says how a message is cut.
type segmentSize struct {
	header syscall.Cmsghdr
	size   uint16
	_      [6]byte
}

const (
	// segmentsMax is the most segments of a message that every kernel takes.
	segmentsMax = 64
	// segmentSizeMax is the largest segment. It passes on every path with an MTU of 1280, the least of IPv6.
	segmentSizeMax = 1232
	// cutMax is the largest message that is cut, in bytes.
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
		_, no := unix.GetsockoptInt(int(fd), unix.SOL_UDP, unix.UDP_SEGMENT) // a kernel before 4.18 would send such a message whole
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
		// The device cannot (EIO), or the path takes only smaller packets: nothing of that message has been sent.
		if errors.Is(err, syscall.EIO) {
			s.cuts = false
		}
		sent, _, err = s.try(b, i, false)
	}
	return sent, err
}

// try sends datagrams from index i on. Cut: the first message is several datagrams, which an error is about then.
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

// put makes datagram i of b the next message of the attempt; with cuts, also those behind it that can be segments of that
// message. False: the datagram must go by itself, to an address with a zone or of a family that the socket does not have.
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

// alike is how many datagrams from i on, and their bytes, can be segments of one message: of one size, the last may be shorter.
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

// once is the callback of send. False waits until the kernel has room. The socket is non-blocking: no need to tell the scheduler.
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
