package host

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"troupe/actors/fleet"
	"troupe/transport/websocket"
)

// advertised returns the address that game sessions announce for a listener.
func (c *Config) advertised(l *websocket.Listener, name string) (fleet.Advertised, error) {
	ip, err := c.advertisedIP(l.Addr())
	return fleet.Advertised{IPAddress: ip, DNSName: name, Port: l.Addr().(*net.TCPAddr).Port}, err
}

// advertisedIP returns the IP address that players get: the configured one, or else the address of the
// listener. If the listener is bound to all addresses, it returns one of the machine's addresses.
func (c *Config) advertisedIP(listening net.Addr) (string, error) {
	if c.Public.IP != "" {
		return c.Public.IP, nil
	}
	ip, ok := netip.AddrFromSlice(listening.(*net.TCPAddr).IP)
	if ok && !ip.IsUnspecified() {
		return ip.Unmap().String(), nil
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("host: public.ip is not set, and this machine does not tell its addresses: %w", err)
	}
	if ip, ok = reached(ip, addrs); !ok {
		return "", fmt.Errorf("host: public.ip must be set: this machine has no address that others reach at %s", listening)
	}
	return ip.String(), nil
}

// reached picks the address at which other machines can reach a listener that is bound to all addresses. It
// prefers the first IPv4 address. Without one, it takes the first public IPv6 address, or else the first
// private IPv6 address, unless the listener accepts IPv4 only.
func reached(all netip.Addr, addrs []net.Addr) (found netip.Addr, ok bool) {
	rank := 0
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err != nil || !p.Addr().Unmap().IsGlobalUnicast() {
			continue
		}
		ip, as := p.Addr().Unmap(), 1
		switch {
		case ip.Is4():
			as = 3
		case all.Is4():
			continue
		case !ip.IsPrivate():
			as = 2
		}
		if as > rank {
			found, rank = ip, as
		}
	}
	return found, rank > 0
}

// reachable returns the host:port at which others reach a listener. If the listener is bound to all
// addresses, the host part is the public name or the public address.
func (c *Config) reachable(listening net.Addr) (string, error) {
	a := listening.(*net.TCPAddr)
	if ip, ok := netip.AddrFromSlice(a.IP); ok && !ip.IsUnspecified() {
		return a.String(), nil
	}
	host, err := c.Public.Host, error(nil)
	if host == "" {
		host, err = c.advertisedIP(a)
	}
	return net.JoinHostPort(host, strconv.Itoa(a.Port)), err
}

// fastAddr returns the configured address with the port that was bound.
func fastAddr(configured string, port uint16) string {
	host, _, _ := net.SplitHostPort(configured)
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// loopback reports whether the host in addr is localhost or a loopback address.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
