package kcp

import (
	"context"
	"crypto/tls"
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

// serveMemory is a listener on a network in memory.
func serveMemory(t *testing.T) (*memnet.Network, *dtls.Endpoint, *Listener, *recorder) {
	network := memnet.New(memnet.Seed(t))
	t.Cleanup(network.Close)
	conn, err := network.Node().ListenPacket(0)
	if err != nil {
		t.Fatal(err)
	}
	cert, _ := transporttest.Trusted()
	r := &recorder{t: t}
	l := NewListener(Options{}, r)
	e, err := dtls.Listen(dtls.Options{Conn: conn, Counters: new(counters.Set), Certificate: func() *tls.Certificate { return cert }}, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return network, e, l, r
}

func socketTo(t *testing.T, network *memnet.Network, to net.Addr) net.Conn {
	t.Helper()
	conn, err := network.Node().DialPacket(to.(*net.UDPAddr).AddrPort())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, e, l, r := serveMemory(t)
		_, roots := transporttest.Trusted()
		c := &listening{t: t}
		ctx := t.Context()
		s, err := Dial(ctx, DialOptions{DTLS: dtls.DialOptions{Conn: socketTo(t, network, e.Addr()), ServerName: "localhost", Roots: roots}}, c)
		if err != nil {
			t.Fatal(err)
		}
		if s.RemoteAddr().String() != e.Addr().String() {
			t.Errorf("remote address %v, want %v", s.RemoteAddr(), e.Addr())
		}
		if err := s.Send(ctx, []byte("over the wire")); err != nil {
			t.Error(err)
		}
		s.Close(1000)
		if err := l.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		if got := r.got(); len(got) != 1 || string(got[0]) != "over the wire" || !r.end(t).Clean {
			t.Errorf("messages %q, end %+v", got, r.end(t))
		}
		if r.conn.RemoteAddr().String() != s.LocalAddr().String() {
			t.Errorf("the host sees %v, the client is %v", r.conn.RemoteAddr(), s.LocalAddr())
		}
		c.end(t)
	})
}

// A failed Dial leaves nothing behind: the bubble ends.
func TestDialFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network, e, _, _ := serveMemory(t)
		c := &listening{t: t}
		nobody := net.UDPAddrFromAddrPort(netip.MustParseAddrPort("10.9.9.9:9"))
		for name, o := range map[string]dtls.DialOptions{
			"unknown authority": {Conn: socketTo(t, network, e.Addr()), ServerName: "localhost"},
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
