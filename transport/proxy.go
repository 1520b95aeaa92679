package transport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
)

// ProxyHeaderMax is the maximum size of a PROXY protocol header, including its extensions, in bytes.
const ProxyHeaderMax = 4 << 10

// ErrProxyHeader is wrapped by all errors of ReadProxyHeader.
var ErrProxyHeader = errors.New("not a PROXY protocol v2 header")

const (
	proxySignature = "\r\n\r\n\x00\r\nQUIT\n"
	proxyFixed     = 16 // size of the header before its addresses, in bytes
)

// BeginsProxyHeader reports whether this can be the first byte of a PROXY protocol header of version 2.
func BeginsProxyHeader(first byte) bool { return first == proxySignature[0] }

// ReadProxyHeader reads the header that a load balancer sends first on a TCP connection (PROXY protocol version 2,
// section 2.2 of haproxy's proxy-protocol.txt). It reads no byte after the header. It returns the address of the
// client. If the connection is the load balancer's own (LOCAL), such as a health check, it returns the zero value.
func ReadProxyHeader(r io.Reader) (client netip.AddrPort, err error) {
	var head [proxyFixed]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return client, fmt.Errorf("%w: %w", ErrProxyHeader, err)
	}
	size := int(binary.BigEndian.Uint16(head[14:]))
	switch {
	case string(head[:12]) != proxySignature:
		return client, fmt.Errorf("%w: other bytes", ErrProxyHeader)
	case head[12]>>4 != 2 || head[12]&15 > 1:
		return client, fmt.Errorf("%w: version and command %#x", ErrProxyHeader, head[12])
	case proxyFixed+size > ProxyHeaderMax:
		return client, fmt.Errorf("%w: %d bytes", ErrProxyHeader, size)
	}
	rest := make([]byte, size)
	if _, err := io.ReadFull(r, rest); err != nil {
		return client, fmt.Errorf("%w: %w", ErrProxyHeader, err)
	}
	if head[12]&15 == 0 { // LOCAL
		return client, nil
	}
	ip := 4
	switch head[13] {
	case 0x11: // TCP over IPv4
	case 0x21: // TCP over IPv6
		ip = 16
	default:
		return client, fmt.Errorf("%w: not TCP: family %#x", ErrProxyHeader, head[13])
	}
	if size < 2*ip+4 {
		return client, fmt.Errorf("%w: %d bytes of addresses", ErrProxyHeader, size)
	}
	addr, _ := netip.AddrFromSlice(rest[:ip])
	return netip.AddrPortFrom(addr.Unmap(), binary.BigEndian.Uint16(rest[2*ip:])), nil
}

// Proxies are the addresses of trusted proxies: the client that their header names is believed. The zero value is empty.
type Proxies []netip.Prefix

// ParseProxies parses addresses and networks, such as 10.0.0.7 and 10.1.0.0/16.
func ParseProxies(list []string) (all Proxies, err error) {
	for _, text := range list {
		text = strings.TrimSpace(text)
		p, bad := netip.ParsePrefix(text)
		if ip, err := netip.ParseAddr(text); err == nil {
			p, bad = netip.PrefixFrom(ip.Unmap(), ip.Unmap().BitLen()), nil
		}
		if bad != nil {
			return nil, fmt.Errorf("%q is neither an address nor a network", text)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// Has reports whether ip is the address of a trusted proxy.
func (p Proxies) Has(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(ip) })
}
