package client_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"reflect"
	"runtime/debug"
	"testing"
	"time"

	"go.uber.org/goleak"

	"troupe/messages"
	"troupe/messages/wire"
	"troupe/transport/client"
)

// TestCertificate: wss checks the host's certificate against the given roots and name.
func TestCertificate(t *testing.T) {
	r := newRig(t, accepted, nil)
	roots := authority().Roots()
	_, port, _ := net.SplitHostPort(r.addr)
	for name, c := range map[string]struct {
		addr string
		tls  *tls.Config
		err  any
	}{
		"address":          {addr: r.addr, tls: &tls.Config{RootCAs: roots}},
		"name of the addr": {addr: "localhost:" + port, tls: &tls.Config{RootCAs: roots}},
		"name of its own":  {addr: r.addr, tls: &tls.Config{RootCAs: roots, ServerName: "localhost"}},
		"other protocols":  {addr: r.addr, tls: &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}}},
		"TLS 1.2 (RT-9)":   {addr: r.addr, tls: &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS12}},
		"another name":     {addr: r.addr, tls: &tls.Config{RootCAs: roots, ServerName: "example.com"}, err: new(x509.HostnameError)},
		"system's roots":   {addr: r.addr, err: new(x509.UnknownAuthorityError)},
	} {
		t.Run(name, func(t *testing.T) {
			o := r.options()
			o.Addr, o.TLS = c.addr, c.tls
			before := c.tls.Clone()
			got, err := client.Dial(t.Context(), o)
			if err == nil {
				got.Close()
				<-r.peers
			}
			if c.err == nil && err != nil || c.err != nil && !errors.As(err, c.err) {
				t.Errorf("got %v", err)
			}
			if !reflect.DeepEqual(before, c.tls.Clone()) {
				t.Error("the program's configuration was changed")
			}
		})
	}
}

// withoutGC keeps the garbage collector from closing connections that were left open.
func withoutGC(t *testing.T) {
	before := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// The connection is closed if the host's certificate is not trusted.
func TestAnUntrustedHostIsDisconnected(t *testing.T) {
	withoutGC(t)
	closed := make(chan bool, 1)
	addr := listen(t, func(c net.Conn) {
		if err := tls.Server(c, authority().ServerConfig()).Handshake(); err == nil {
			t.Error("it is trusted")
		}
		c.SetReadDeadline(time.Now().Add(patience / 2))
		_, err := io.Copy(io.Discard, c)
		closed <- !errors.Is(err, os.ErrDeadlineExceeded)
	})
	c, err := client.Dial(t.Context(), client.Options{
		Addr: addr, PlayerSessionID: "p", Transport: client.WSS, TLS: &tls.Config{RootCAs: x509.NewCertPool()},
	})
	if c != nil || !errors.As(err, new(x509.UnknownAuthorityError)) {
		t.Errorf("got %v, %v", c, err)
	}
	if !<-closed {
		t.Error("it is left open")
	}
}

// TestDialGivesUpAnywhere: at whatever step the host stops, a Dial whose context ends leaves
// nothing behind, at client and host.
func TestDialGivesUpAnywhere(t *testing.T) {
	withoutGC(t)
	reads := func(c net.Conn) { io.Copy(io.Discard, c) }
	overTLS := func(serve func(c net.Conn)) func(c net.Conn) {
		return func(c net.Conn) { serve(tls.Server(c, authority().ServerConfig())) }
	}
	upgrades := func(c net.Conn) {
		in := bufio.NewReader(c)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n") // and nothing after it
		io.Copy(io.Discard, in)
	}
	trusting := &tls.Config{RootCAs: authority().Roots()}
	mute := newRig(t, nil, nil)
	for name, o := range map[string]client.Options{
		"ws: handshake":      {Addr: listen(t, reads), Transport: client.WS},
		"ws: half an answer": {Addr: listen(t, upgrades), Transport: client.WS},
		"wss: TLS":           {Addr: listen(t, reads), Transport: client.WSS, TLS: trusting},
		"wss: handshake":     {Addr: listen(t, overTLS(reads)), Transport: client.WSS, TLS: trusting},
		"wss: half answer":   {Addr: listen(t, overTLS(upgrades)), Transport: client.WSS, TLS: trusting},
		"wss: login":         {Addr: mute.addr, Transport: client.WSS, TLS: trusting},
	} {
		for how, limit := range map[string]func(after time.Duration) (context.Context, context.CancelFunc, error){
			"deadline": func(after time.Duration) (context.Context, context.CancelFunc, error) {
				ctx, cancel := context.WithTimeout(t.Context(), after)
				return ctx, cancel, context.DeadlineExceeded
			},
			"cancel": func(after time.Duration) (context.Context, context.CancelFunc, error) {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(after, cancel)
				return ctx, cancel, context.Canceled
			},
			"timeout": func(time.Duration) (context.Context, context.CancelFunc, error) {
				return t.Context(), func() {}, context.DeadlineExceeded
			},
		} {
			t.Run(name+", "+how, func(t *testing.T) {
				already := goleak.IgnoreCurrent()
				dial := func(after time.Duration) {
					ctx, cancel, want := limit(after)
					defer cancel()
					o := o
					o.PlayerSessionID = "psess-1"
					if how == "timeout" {
						o.DialTimeout = after
					}
					began := time.Now()
					c, err := client.Dial(ctx, o)
					if c != nil || !errors.Is(err, want) {
						t.Errorf("got %v, %v", c, err)
					}
					if took := time.Since(began); took > after+10*time.Second {
						t.Errorf("took %v", took)
					}
				}
				const after = 100 * time.Millisecond
				dial(after)
				// On a busy machine the limit may be over before the host has the connection.
				for longer := 4 * after; o.Addr == mute.addr; longer *= 4 {
					select {
					case p := <-mute.peers:
						if end := <-p.closed; end.Clean {
							t.Error("the host takes it for a leave")
						}
					case <-time.After(after):
						if longer > 10*time.Second {
							t.Fatal("the host has no connection")
						}
						dial(longer)
						continue
					}
					break
				}
				if err := goleak.Find(already); err != nil { // goroutines of the host's side, too
					t.Error(err)
				}
			})
		}
	}
}

// TestSilence: a silent host counts as lost; one that pings does not.
func TestSilence(t *testing.T) {
	r := newRig(t, accepted, nil)
	o := r.options()
	o.SilenceMax, o.Reconnect = 300*time.Millisecond, once
	var c *client.Client
	for {
		var p *peer
		c, p = r.dial(o)
		began, rest := time.Now(), time.Duration(0) // the longest time without a ping
		for last := began; time.Since(began) < 2*o.SilenceMax; {
			p.Ping([]byte("still here"))
			time.Sleep(o.SilenceMax / 10)
			rest, last = max(rest, time.Since(last)), time.Now()
		}
		if !c.Attached() {
			if rest < o.SilenceMax/3 || o.SilenceMax > 10*time.Second {
				t.Fatalf("ended although the host pings: %s", c.End())
			}
			t.Logf("again: the machine had the host rest for %v", rest)
			o.SilenceMax *= 2
			continue
		}
		break
	}
	end := ended(t, c)
	if !errors.Is(end.Err, client.ErrSilent) || end.Code != 0 || end.Retry() != messages.RetryResume {
		t.Errorf("end %+v, %s", end, end)
	}
	if err := c.Send(t.Context(), client.Message{OpCode: 1, TargetPlayer: client.Server}); !errors.Is(err, client.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

// TestSendWaits: with a full send buffer, Send waits. When its context ends the wait, the
// connection still works.
func TestSendWaits(t *testing.T) {
	wait := make(chan struct{})
	r := newRig(t, accepted, func(p *peer, h *wire.Header) { <-wait })
	c, _ := r.dial(r.options())
	m := client.Message{OpCode: 1, TargetPlayer: client.Server, Payload: make([]byte, client.PayloadMax)}
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		err := c.Send(ctx, m)
		cancel()
		if err == nil {
			continue
		}
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrClosed) {
			t.Fatalf("a send that waits: %v", err)
		}
		break
	}
	close(wait)
	if err := c.Send(t.Context(), m); err != nil || !c.Attached() {
		t.Errorf("when there is room again: %v", err)
	}
}

// TestCloseDoesNotWait: if the host does not read, Close takes two seconds at most.
func TestCloseDoesNotWait(t *testing.T) {
	wait := make(chan struct{})
	r := newRig(t, accepted, func(p *peer, h *wire.Header) { <-wait })
	c, _ := r.dial(r.options())
	t.Cleanup(func() { close(wait) })
	sending := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			err = c.Send(context.Background(), client.Message{OpCode: 1, TargetPlayer: client.Server, Payload: make([]byte, client.PayloadMax)})
		}
		sending <- err
	}()
	for sent := uint64(0); c.Stats().Reliable.Sent != sent; { // until sending has stopped
		sent = c.Stats().Reliable.Sent
		time.Sleep(100 * time.Millisecond)
	}
	began := time.Now()
	c.Close()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	if err := <-sending; !errors.Is(err, client.ErrClosed) {
		t.Errorf("the send that waited: %v", err)
	}
	if !c.End().Local {
		t.Errorf("end %s", c.End())
	}
}

// End has the host's close code, reason and request to retry, on wss as on ws.
func TestEndHasTheHostsReason(t *testing.T) {
	r := newRig(t, accepted, nil)
	for _, reason := range messages.CloseReasons() {
		o := r.options()
		o.Reconnect = once
		c, p := r.dial(o)
		p.Close(reason)
		end := ended(t, c)
		if end.Code != uint16(reason) || end.Reason != reason.String() || end.Retry() != reason.Retry() || end.Local || end.Err != nil {
			t.Errorf("%s: end %+v", reason, end)
		}
	}
}

// TestNoFastOffered: a wss host without a certificate authority offers no fast channel. The
// program is told and continues.
func TestNoFastOffered(t *testing.T) {
	r := newRig(t, accepted, func(p *peer, h *wire.Header) { p.say(wire.NewFrame(h)) })
	o := r.options()
	o.Fast = true
	c, p := r.dial(o)
	if e := <-c.Events(); e.Kind != client.EventFastDown || e.Sender != client.Server {
		t.Errorf("got %+v", e)
	}
	if err := c.FastErr(); !errors.Is(err, client.ErrFastRefused) || c.FastUp() {
		t.Errorf("error %v", err)
	}
	if err := c.Send(t.Context(), client.Message{OpCode: 5, TargetPlayer: client.Server, Intent: client.Fast}); err != nil {
		t.Error(err)
	}
	if e := <-c.Events(); e.OpCode != 5 || e.Fast {
		t.Errorf("got %+v", e)
	}
	p.Close(messages.CloseGameEnded)
	if more := kinds(c); len(more) > 0 {
		t.Errorf("and %v", more)
	}
}

// TestStats: messages and bytes are counted per channel, and the counts can be reset.
func TestStats(t *testing.T) {
	r := newRig(t, accepted, func(p *peer, h *wire.Header) { p.say(wire.NewFrame(h)) })
	c, _ := r.dial(r.options())
	login := c.ResetStats().Reliable
	if login.Sent != 1 || login.Received != 1 || login.SentBytes < 20 || login.ReceivedBytes < 10 {
		t.Errorf("after the login %+v", login)
	}
	if s := c.Stats(); s != (client.Stats{}) {
		t.Errorf("after the reset %+v", s)
	}
	for range 3 {
		if err := c.Send(t.Context(), client.Message{OpCode: 5, TargetPlayer: client.Server, Payload: make([]byte, 100)}); err != nil {
			t.Fatal(err)
		}
		<-c.Events()
	}
	s := c.Stats().Reliable
	if s.Sent != 3 || s.Received != 3 || s.SentBytes < 300 || s.SentBytes > 400 || s.ReceivedBytes != s.SentBytes {
		t.Errorf("after three messages %+v", s)
	}
	if c.ResetStats().Reliable != s || c.Stats() != (client.Stats{}) {
		t.Error("the reset is not one")
	}
}
