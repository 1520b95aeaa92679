package host

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

// Players get an address that they can reach: never loopback, and IPv6 only if the host listens on it.
func TestTheAnnouncedAddressCanBeReached(t *testing.T) {
	const local = "127.0.0.1/8 ::1/128 fe80::1/64"
	for _, c := range []struct{ listens, machine, want string }{
		{"::", "10.0.0.7/24 192.0.2.1/24 2001:db8::7/64", "10.0.0.7"},
		{"0.0.0.0", "2001:db8::7/64 10.0.0.7/24", "10.0.0.7"},
		{"::", "fd00::7/64 2001:db8::7/64 2001:db8::8/64", "2001:db8::7"},
		{"::", "fd00::7/64 fd00::8/64", "fd00::7"},
		{"::", "169.254.1.1/16", ""},
		{"::", "", ""},
		{"0.0.0.0", "2001:db8::7/64", ""},
	} {
		var addrs []net.Addr
		for _, text := range append(strings.Fields(local), strings.Fields(c.machine)...) {
			p := netip.MustParsePrefix(text)
			addrs = append(addrs, &net.IPNet{IP: p.Addr().AsSlice(), Mask: net.CIDRMask(p.Bits(), p.Addr().BitLen())})
		}
		got := ""
		if ip, ok := reached(netip.MustParseAddr(c.listens), addrs); ok {
			got = ip.String()
		}
		if got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}
