package acceptance_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/host"
)

// through opens a TCP connection to the WebSocket port through a load balancer. The balancer reports an IPv6
// client.
func (h *testHost) through(balancer, source string) net.Conn {
	h.Helper()
	nc, err := h.Net.DialFrom(h.context(), "tcp", balancer, h.host.Addrs().WS)
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { nc.Close() })
	head := []byte("\r\n\r\n\x00\r\nQUIT\n\x21\x21\x00\x24")
	for _, ip := range []string{source, "2001:db8:ffff::1"} {
		head = append(head, netip.MustParseAddr(ip).AsSlice()...)
	}
	head = binary.BigEndian.AppendUint32(head, 50000<<16|1900)
	if _, err := nc.Write(head); err != nil {
		h.Fatal(err)
	}
	return nc
}

// Silent connections from one IPv6 /48 network share a limit, even if each comes from another /64. A client
// from another network does not wait behind them.
func TestAnIPv6NetworkIsOneSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const balancer = "127.0.0.21"
		h := startHost(t, func(c *host.Config) {
			c.WebSocket.Proxies = []string{balancer}
			c.Limits = host.Defaults().Limits
			c.Limits.UnauthenticatedPerIP = 2
		}, nil)
		for i := range 100 {
			h.through(balancer, fmt.Sprintf("2001:db8:0:%x::1", i))
		}
		h.until("some of them wait", func() error {
			if n := h.host.Counters().Held.Load(); n == 0 {
				return fmt.Errorf("%d do", n)
			}
			return nil
		})
		begun := time.Now()
		nc := h.through(balancer, "2001:db8:1::1")
		_ = nc.SetDeadline(begun.Add(patience))
		fmt.Fprint(nc, "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Fatalf("who comes from elsewhere is not let in: %v, %v", resp, err)
		}
		t.Logf("%d wait; who came from elsewhere was in after %v", h.host.Counters().Held.Load(), time.Since(begun))
	})
}
