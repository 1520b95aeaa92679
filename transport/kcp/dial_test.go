package kcp

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"testing"
	"time"

	"troupe/messages/counters"
	"troupe/transport/dtls"
	"troupe/transport/transporttest"
)

// serveLoopback is a listener on a real socket.
func serveLoopback(t *testing.T) (*dtls.Endpoint, *Listener, *recorder) {
	cert, _ := transporttest.Trusted()
	r := &recorder{t: t}
	l := NewListener(Options{}, r)
	e, err := dtls.Listen(dtls.Options{Addr: "127.0.0.1:0", Counters: new(counters.Set),
		Certificate: func() *tls.Certificate { return cert }}, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e, l, r
}

func TestDial(t *testing.T) {
	e, l, r := serveLoopback(t)
	_, roots := transporttest.Trusted()
	c := &listening{t: t}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_, port, _ := net.SplitHostPort(e.Addr().String())
	s, err := Dial(ctx, DialOptions{DTLS: dtls.DialOptions{Addr: "127.0.0.1:" + port, ServerName: "localhost", Roots: roots}}, c)
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
}

// A failed Dial leaves nothing behind; goleak watches.
func TestDialFails(t *testing.T) {
	e, _, _ := serveLoopback(t)
	c := &listening{t: t}
	for name, o := range map[string]dtls.DialOptions{
		"unknown authority": {Addr: e.Addr().String(), ServerName: "localhost"},
		"no such address":   {Addr: "127.0.0.1"},
		"nobody there":      {Addr: "127.0.0.1:9"},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		if _, err := Dial(ctx, DialOptions{DTLS: o}, c); err == nil {
			t.Errorf("%s: no error", name)
		} else if name == "nobody there" && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
	}
	if len(c.ends) > 0 {
		t.Errorf("ends %+v", c.ends)
	}
}
