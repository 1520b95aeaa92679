package kcp

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport/dtls"
	"troupe/transport/transporttest"
	"troupe/transport/transporttest/memnet"
)

func socketTo(t *testing.T, network *memnet.Network, to net.Addr) net.Conn {
	t.Helper()
	conn, err := network.Node().DialPacket(to.(*net.UDPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// A failed Dial leaves no goroutine behind; otherwise the bubble would not end.
func TestDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(memnet.Seed(t))
		defer network.Close()
		s := conforming{}.Start(t, transporttest.Options{Network: network, Counters: new(counters.Set), Acceptor: &recorder{t: t}}).(*conformingServer)
		defer s.Stop()
		host := s.endpoint.Addr()
		c := &listening{t: t}
		nobody := net.UDPAddrFromAddrPort(netip.MustParseAddrPort("10.9.9.9:9"))
		for name, o := range map[string]dtls.DialOptions{
			"unknown authority": {Conn: socketTo(t, network, host), ServerName: "localhost"},
			"no such address":   {Addr: "127.0.0.1"},
			"nobody there":      {Conn: socketTo(t, network, nobody), ServerName: "localhost"},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
			if _, err := Dial(ctx, DialOptions{DTLS: o}, c); err == nil {
				t.Errorf("%s: no error", name)
			} else if late := errors.Is(err, context.DeadlineExceeded); late != (name == "nobody there") {
				t.Errorf("%s: %v", name, err)
			}
			cancel()
		}
		if len(c.ends) > 0 {
			t.Errorf("ends %+v", c.ends)
		}
	})
}
