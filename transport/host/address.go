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

// advertisedIP returns the IP address that players are told: the configured one, that of the
// listener, or, if it listens on all addresses, the first of the machine that is not
// loopback.
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
	for _, a := range addrs {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() && p.Addr().Is4() {
			return p.Addr().String(), nil
		}
	}
	return "127.0.0.1", nil
}

// reachable returns the address at which others reach a listener: if it listens on all
// addresses, the name or the address that players are told.
func (c *Config) reachable(listening net.Addr) (string, error) {
	a := listening.(*net.TCPAddr)
	if ip, ok := netip.AddrFromSlice(a.IP); ok && !ip.IsUnspecified() {
		return a.String(), nil
	}
	host := c.Public.Host
	if host == "" {
		ip, err := c.advertisedIP(a)
		if err != nil {
			return "", err
		}
		host = ip
	}
	return net.JoinHostPort(host, strconv.Itoa(a.Port)), nil
}

// fastAddr returns the configured address with the port that was bound.
func fastAddr(configured string, port uint16) string {
	host, _, err := net.SplitHostPort(configured)
	if err != nil {
		host = ""
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// loopback reports whether addr is an address of loopback.
func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}
