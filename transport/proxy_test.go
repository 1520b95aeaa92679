package transport

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
)

// proxyHeader returns a header as a load balancer sends it.
func proxyHeader(command, family byte, addresses []byte, extensions string) []byte {
	b := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), command, family)
	b = binary.BigEndian.AppendUint16(b, uint16(len(addresses)+len(extensions)))
	return append(append(b, addresses...), extensions...)
}

var (
	proxyIPv4 = []byte{192, 0, 2, 7, 10, 0, 0, 1, 0x30, 0x39, 0x07, 0x6c}
	proxyIPv6 = append(append(netip.MustParseAddr("2001:db8::7").AsSlice(), netip.MustParseAddr("::1").AsSlice()...), 0x30, 0x39, 0x07, 0x6c)
)

func TestProxyHeaders(t *testing.T) {
	mapped := append(append(netip.MustParseAddr("::ffff:192.0.2.7").AsSlice(), make([]byte, 16)...), 0x30, 0x39, 0, 0)
	for name, c := range map[string]struct {
		raw  []byte
		want string // empty if it must be refused
	}{
		"IPv4":               {proxyHeader(0x21, 0x11, proxyIPv4, ""), "192.0.2.7:12345"},
		"IPv6":               {proxyHeader(0x21, 0x21, proxyIPv6, ""), "[2001:db8::7]:12345"},
		"IPv4 in IPv6":       {proxyHeader(0x21, 0x21, mapped, ""), "192.0.2.7:12345"},
		"with extensions":    {proxyHeader(0x21, 0x11, proxyIPv4, "\x03\x00\x04abcd"), "192.0.2.7:12345"},
		"LOCAL":              {proxyHeader(0x20, 0x00, nil, ""), "invalid AddrPort"},
		"LOCAL with more":    {proxyHeader(0x20, 0x11, proxyIPv4, ""), "invalid AddrPort"},
		"version 1":          {[]byte("PROXY TCP4 192.0.2.7 10.0.0.1 12345 1900\r\n"), ""},
		"a request":          {[]byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), ""},
		"version 3":          {proxyHeader(0x31, 0x11, proxyIPv4, ""), ""},
		"unknown command":    {proxyHeader(0x22, 0x11, proxyIPv4, ""), ""},
		"UDP":                {proxyHeader(0x21, 0x12, proxyIPv4, ""), ""},
		"unix":               {proxyHeader(0x21, 0x31, make([]byte, 216), ""), ""},
		"addresses cut off":  {proxyHeader(0x21, 0x11, proxyIPv4[:11], ""), ""},
		"IPv6 with IPv4's":   {proxyHeader(0x21, 0x21, proxyIPv4, ""), ""},
		"ends in the middle": {proxyHeader(0x21, 0x11, proxyIPv4, "")[:20], ""},
		"too long":           {proxyHeader(0x21, 0x11, proxyIPv4, strings.Repeat("x", ProxyHeaderMax)), ""},
		"nothing":            {nil, ""},
	} {
		in := bytes.NewReader(append(c.raw[:len(c.raw):len(c.raw)], "GET /"...))
		if c.want == "" {
			in = bytes.NewReader(c.raw)
		}
		got, err := ReadProxyHeader(in)
		if c.want == "" {
			if !errors.Is(err, ErrProxyHeader) {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			continue
		}
		if rest, _ := io.ReadAll(in); err != nil || got.String() != c.want || string(rest) != "GET /" {
			t.Errorf("%s: %v, %v, %q is left", name, got, err, rest)
		}
	}
}

func FuzzProxyHeader(f *testing.F) {
	f.Add(proxyHeader(0x21, 0x11, proxyIPv4, "abc"))
	f.Add(proxyHeader(0x20, 0, nil, ""))
	f.Fuzz(func(t *testing.T, raw []byte) {
		in := bytes.NewReader(raw)
		addr, err := ReadProxyHeader(in)
		if read := len(raw) - in.Len(); read > ProxyHeaderMax || err != nil && addr.IsValid() {
			t.Errorf("%d bytes read, %v, %v", read, addr, err)
		}
	})
}

func TestProxies(t *testing.T) {
	p, err := ParseProxies([]string{"10.0.0.7", " 10.1.2.3/16", "2001:db8::/32", "::ffff:10.2.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	for ip, want := range map[string]bool{
		"10.0.0.7": true, "::ffff:10.0.0.7": true, "10.0.0.8": false, "10.1.255.1": true, "2001:db8:7::1": true, "2001:db9::1": false, "10.2.0.1": true,
	} {
		if p.Has(netip.MustParseAddr(ip)) != want {
			t.Errorf("%s: %v", ip, !want)
		}
	}
	if Proxies(nil).Has(netip.Addr{}) || p.Has(netip.Addr{}) {
		t.Error("no address is a proxy")
	}
	for _, bad := range []string{"", "balancer", "10.0.0.0/33", "10.0.0.1:80"} {
		if _, err := ParseProxies([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
