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
	"reflect"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/wire"
	"troupe/transport/client"
	"troupe/transport/transporttest"
)

// wss and kcp check the host's certificate, which is for localhost, against the given roots and name. A client
// disconnects from an untrusted host at once.
// disconnected at once.
func TestCertificate(t *testing.T) {
	_, roots := transporttest.Trusted()
	for name, c := range map[string]struct {
		host string
		tls  *tls.Config
		err  any
	}{
		"name of the address": {host: "localhost", tls: &tls.Config{RootCAs: roots}},
		"name of its own":     {host: "127.0.0.1", tls: &tls.Config{RootCAs: roots, ServerName: "localhost"}},
		"other protocols":     {host: "localhost", tls: &tls.Config{RootCAs: roots, NextProtos: []string{"h2"}}},
		"TLS 1.2 (RT-9)":      {host: "localhost", tls: &tls.Config{RootCAs: roots, MaxVersion: tls.VersionTLS12}},
		"another name":        {host: "localhost", tls: &tls.Config{RootCAs: roots, ServerName: "example.com"}, err: new(x509.HostnameError)},
		"another address":     {host: "127.0.0.1", tls: &tls.Config{RootCAs: roots}, err: new(x509.HostnameError)},
		"no roots":            {host: "localhost", tls: &tls.Config{RootCAs: x509.NewCertPool()}, err: new(x509.UnknownAuthorityError)},
		"system's roots":      {host: "localhost", err: new(x509.UnknownAuthorityError)},
	} {
		for _, over := range []string{"wss", "kcp"} {
			bubble(t, over+": "+name, func(t *testing.T) {
				withoutGC(t)
				r := rigs[over](newWeb(t))
				o := r.options()
				o.Addr, o.TLS = strings.Replace(r.addr, "localhost", c.host, 1), c.tls
				o.KCPAddr = o.Addr
				before, began := c.tls.Clone(), time.Now()
				got, err := client.Dial(t.Context(), o)
				if err == nil {
					got.Close()
				}
				if c.err == nil && err != nil || c.err != nil && !errors.As(err, c.err) || time.Since(began) != 0 {
					t.Errorf("got %v after %v", err, time.Since(began))
				}
				if !reflect.DeepEqual(before, c.tls.Clone()) {
					t.Error("the program's configuration was changed")
				}
			})
		}
	}
}

// withoutGC disables the garbage collector, which would close connections that were left open.
func withoutGC(t *testing.T) {
	before := debug.SetGCPercent(-1)
	t.Cleanup(func() { debug.SetGCPercent(before) })
}

// At whatever step the host stops, Dial ends with its context or its timeout and leaves nothing behind. The bubble ends
// only when all goroutines have ended, including those that serve its connections.
func TestDialGivesUpAnywhere(t *testing.T) {
	reads := func(c net.Conn) { io.Copy(io.Discard, c) }
	overTLS := func(serve func(c net.Conn)) func(c net.Conn) {
		return func(c net.Conn) { serve(tls.Server(c, serverTLS())) }
	}
	upgrades := func(c net.Conn) {
		in := bufio.NewReader(c)
		if _, err := http.ReadRequest(in); err != nil {
			return
		}
		io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\n") // nothing follows
		io.Copy(io.Discard, in)
	}
	const limit = 100 * time.Millisecond
	for name, c := range map[string]struct {
		over  client.Transport
		serve func(c net.Conn) // if nil, a rig that does not answer logins
	}{
		"ws: handshake":      {client.WS, reads},
		"ws: half an answer": {client.WS, upgrades},
		"wss: TLS":           {client.WSS, reads},
		"wss: handshake":     {client.WSS, overTLS(reads)},
		"wss: half answer":   {client.WSS, overTLS(upgrades)},
		"wss: login":         {client.WSS, nil},
		"kcp: login":         {client.KCP, nil},
	} {
		for how, want := range map[string]error{"deadline": context.DeadlineExceeded, "cancel": context.Canceled, "timeout": context.DeadlineExceeded} {
			bubble(t, name+", "+how, func(t *testing.T) {
				withoutGC(t)
				w := newWeb(t)
				var mute *rig
				o := client.Options{}
				switch {
				case c.serve != nil:
					o = w.options(c.over, w.listen(c.serve))
				case c.over == client.KCP:
					mute = w.newKCPRig(nil, nil)
				default:
					mute = w.newRig(nil, nil)
				}
				if mute != nil {
					o = mute.options()
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				switch how {
				case "deadline":
					ctx, cancel = context.WithTimeout(ctx, limit)
					defer cancel()
				case "cancel":
					time.AfterFunc(limit, cancel)
				case "timeout":
					o.DialTimeout = limit
				}
				began := time.Now()
				cl, err := client.Dial(ctx, o)
				if took := time.Since(began); cl != nil || !errors.Is(err, want) || took != limit {
					t.Errorf("got %v, %v after %v", cl, err, took)
				}
				if mute != nil {
					if end := <-(<-mute.peers).closed; end.Clean {
						t.Error("the host takes it for a leave")
					}
				}
			})
		}
	}
}

// A host counts as lost when nothing has arrived from it for SilenceMax, and not earlier: each ping restarts the time.
// KCP pings the host and detects the loss earlier, after StallMax.
func TestSilence(t *testing.T) {
	const most = 2800 * time.Millisecond
	for name, c := range map[string]struct {
		over           string
		silence, stall time.Duration // 0: the default
		want           time.Duration
	}{
		"wss":          {over: "wss", silence: 5 * time.Second, want: 5 * time.Second},
		"kcp":          {over: "kcp", want: most},
		"kcp, silence": {over: "kcp", silence: 500 * time.Millisecond, want: 500 * time.Millisecond},
		"kcp, stall":   {over: "kcp", silence: time.Hour, stall: 280 * time.Millisecond, want: 280 * time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			r := rigs[c.over](newWeb(t))
			o := r.options()
			o.SilenceMax, o.StallMax, o.Reconnect = c.silence, c.stall, once
			cl, p := r.dial(o)
			for range 5 {
				time.Sleep(c.want - 1)
				p.Ping([]byte("still here"))
			}
			synctest.Wait()
			r.BlockAll(true)
			last := time.Now()
			if err := cl.JoinGroup(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			end := ended(t, cl)
			if took := time.Since(last); took != c.want || !errors.Is(end.Err, client.ErrSilent) || end.Code != 0 || end.Retry() != messages.RetryResume {
				t.Errorf("end %+v, %s, after %v", end, end, took)
			}
			if err := cl.Send(t.Context(), client.Message{OpCode: 1, TargetPlayer: client.Server}); !errors.Is(err, client.ErrClosed) {
				t.Errorf("after the end: %v", err)
			}
		})
	}
}

// With a full send buffer, Send waits as long as its context allows, and the connection still works afterwards. Close does
// not wait for a host that reads nothing. It waits one second for the queued messages, and another one for the close frame.
func TestAHostThatReadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := make(chan struct{})
		r := newWeb(t).newRig(accepted, func(p *peer, h *wire.Header) { <-wait })
		c, _ := r.dial(r.options())
		m := client.Message{OpCode: 1, TargetPlayer: client.Server, Payload: make([]byte, client.PayloadMax)}
		fill := func() error {
			for {
				ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
				began := time.Now()
				err := c.Send(ctx, m)
				cancel()
				if err != nil && time.Since(began) != 200*time.Millisecond {
					t.Errorf("a send waited for %v", time.Since(began))
				}
				if err != nil {
					return err
				}
			}
		}
		if err := fill(); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrClosed) {
			t.Errorf("a send that waits: %v", err)
		}
		wait <- struct{}{} // the host reads until the next message blocks its handler
		if err := c.Send(t.Context(), m); err != nil || !c.Attached() {
			t.Errorf("when there is room again: %v", err)
		}
		fill()
		sending := make(chan error, 1)
		go func() { sending <- c.Send(t.Context(), m) }()
		synctest.Wait()
		began := time.Now()
		c.Close()
		if took := time.Since(began); took != 2*time.Second || !c.End().Local {
			t.Errorf("took %v, end %s", took, c.End())
		}
		if err := <-sending; !errors.Is(err, client.ErrClosed) {
			t.Errorf("the send that waited: %v", err)
		}
		close(wait)
	})
}

// End has the host's close code, reason and retry advice, over every transport.
func TestEndHasTheHostsReason(t *testing.T) {
	for over, newRig := range rigs {
		bubble(t, over, func(t *testing.T) {
			r := newRig(newWeb(t))
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
		})
	}
}
