package faults

import (
	"encoding/binary"
	"net/netip"
)

// The protocols and flags of TCP that a NAT must know.
const (
	protoTCP = 6
	protoUDP = 17

	flagFIN = 1
	flagSYN = 2
	flagRST = 4
	flagACK = 16
)

const (
	ipv4Bytes = 20
	tcpBytes  = 20
	udpBytes  = 8
)

// packet is an IPv4 packet that carries TCP or UDP and is no fragment.
type packet struct {
	b        []byte // without what follows the packet
	header   int    // bytes of the IP header
	protocol byte
	tcp      segment
}

// segment is what a NAT must know of a TCP segment.
type segment struct {
	seq, ack uint32
	next     uint32 // the sequence number after it
	flags    byte
}

// parsePacket reads a packet. It returns false for what is not whole, or no such packet; it checks no checksums.
func parsePacket(b []byte) (p packet, ok bool) {
	if len(b) < ipv4Bytes || b[0]>>4 != 4 {
		return p, false
	}
	header, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	fragment := binary.BigEndian.Uint16(b[6:])&0x3fff != 0 // more fragments follow, or it is not the first
	if header < ipv4Bytes || total < header || total > len(b) || fragment {
		return p, false
	}
	p = packet{b: b[:total], header: header, protocol: b[9]}
	inner := p.b[header:]
	switch {
	case p.protocol == protoUDP && len(inner) >= udpBytes:
		return p, true
	case p.protocol == protoTCP && len(inner) >= tcpBytes:
		offset := int(inner[12]>>4) * 4
		if offset < tcpBytes || offset > len(inner) {
			return p, false
		}
		s := segment{seq: binary.BigEndian.Uint32(inner[4:]), ack: binary.BigEndian.Uint32(inner[8:]), flags: inner[13]}
		s.next = s.seq + uint32(len(inner)-offset)
		if s.flags&flagSYN != 0 {
			s.next++
		}
		if s.flags&flagFIN != 0 {
			s.next++
		}
		p.tcp = s
		return p, true
	}
	return p, false
}

func (p packet) src() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(p.b[12:16])), binary.BigEndian.Uint16(p.b[p.header:]))
}

func (p packet) dst() netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(p.b[16:20])), binary.BigEndian.Uint16(p.b[p.header+2:]))
}

// setSrc and setDst change an address, which must be IPv4, and the checksums with it.
func (p *packet) setSrc(addr netip.AddrPort) { p.set(12, p.header, addr) }
func (p *packet) setDst(addr netip.AddrPort) { p.set(16, p.header+2, addr) }

func (p *packet) set(address, port int, to netip.AddrPort) {
	ip := to.Addr().As4()
	for i := 0; i < len(ip); i += 2 {
		p.setWord(address+i, binary.BigEndian.Uint16(ip[i:]), true)
	}
	p.setWord(port, to.Port(), false)
}

// setWord changes 16 bits that the checksum of TCP or UDP covers, and that of IP too if they are in its header.
func (p *packet) setWord(at int, value uint16, inHeader bool) {
	old := binary.BigEndian.Uint16(p.b[at:])
	binary.BigEndian.PutUint16(p.b[at:], value)
	if inHeader {
		adjust(p.b[10:12], old, value)
	}
	switch p.protocol {
	case protoTCP:
		adjust(p.b[p.header+16:p.header+18], old, value)
	case protoUDP:
		sum := p.b[p.header+6 : p.header+8]
		if sum[0]|sum[1] == 0 {
			return // it has none
		}
		if adjust(sum, old, value); sum[0]|sum[1] == 0 {
			sum[0], sum[1] = 0xff, 0xff
		}
	}
}

// adjust changes a checksum as its data change (RFC 1624, equation 3).
func adjust(sum []byte, old, value uint16) {
	s := uint32(^binary.BigEndian.Uint16(sum)) + uint32(^old) + uint32(value)
	binary.BigEndian.PutUint16(sum, ^fold(s))
}

// fold adds the carries of a sum of 16-bit words.
func fold(s uint32) uint16 {
	for s > 0xffff {
		s = s>>16 + s&0xffff
	}
	return uint16(s)
}

// sumOf adds up 16-bit words.
func sumOf(b []byte) (s uint32) {
	for ; len(b) > 1; b = b[2:] {
		s += uint32(binary.BigEndian.Uint16(b))
	}
	if len(b) == 1 {
		s += uint32(b[0]) << 8
	}
	return s
}

// resetPacket makes a packet that resets a TCP connection. Addresses must be IPv4; seq is what the receiver expects next, ack what it has sent.
func resetPacket(from, to netip.AddrPort, seq, ack uint32) []byte {
	b := make([]byte, ipv4Bytes+tcpBytes)
	b[0], b[8], b[9] = 0x45, 64, protoTCP
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	copy(b[12:], from.Addr().AsSlice())
	copy(b[16:], to.Addr().AsSlice())
	tcp := b[ipv4Bytes:]
	binary.BigEndian.PutUint16(tcp, from.Port())
	binary.BigEndian.PutUint16(tcp[2:], to.Port())
	binary.BigEndian.PutUint32(tcp[4:], seq)
	binary.BigEndian.PutUint32(tcp[8:], ack)
	tcp[12], tcp[13] = tcpBytes/4<<4, flagRST|flagACK
	binary.BigEndian.PutUint16(b[10:], ^fold(sumOf(b[:ipv4Bytes])))
	binary.BigEndian.PutUint16(tcp[16:], ^fold(sumOf(b[12:20])+protoTCP+tcpBytes+sumOf(tcp)))
	return b
}
