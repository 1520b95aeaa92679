package websocket

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/transporttest"
	"troupe/transport/transporttest/memnet"
)

// RT-1.
func TestBothPathsAndAnyOriginAreAccepted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		ids := make(map[uint64]bool)
		for _, path := range []string{"/websocket", "/"} {
			for _, origin := range []string{"", "https://elsewhere.example", "null", "file://"} {
				var lines []string
				if origin != "" {
					lines = append(lines, "Origin: "+origin)
				}
				lines = append(lines, "Sec-WebSocket-Protocol: chat, superchat",
					"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits")
				cl := h.dial(t, path, lines...)
				p := h.accepted(t)
				if p.Channel() != counters.WS || p.RemoteAddr().String() != cl.conn.LocalAddr().String() {
					t.Errorf("channel %v, remote %v, client %v", p.Channel(), p.RemoteAddr(), cl.conn.LocalAddr())
				}
				if ids[p.ID()] {
					t.Errorf("id %d twice", p.ID())
				}
				ids[p.ID()] = true
				cl.write(binaryFrame("x"))
				p.await(t, path, func() bool { return len(p.units) == 1 })
			}
		}
		if n := h.count.Accepted.Get(counters.WS); n != 8 {
			t.Errorf("accepted %d", n)
		}
		if n := h.Len(); n != 8 {
			t.Errorf("%d open", n)
		}
	})
}

func TestRefusedRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		ok := request("/websocket")
		cases := []struct {
			name, raw string
			status    int
			refusal   counters.Refusal
		}{
			{"other path", request("/other"), 404, counters.RefusedPath},
			{"path below", request("/websocket/"), 404, counters.RefusedPath},
			{"options", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", 404, counters.RefusedPath},
			{"POST", "POST" + ok[3:], 405, counters.RefusedHandshake},
			{"HTTP 1.0", strings.Replace(ok, "HTTP/1.1", "HTTP/1.0", 1), 400, counters.RefusedHandshake},
			{"body", request("/", "Content-Length: 3") + "abc", 400, counters.RefusedHandshake},
			{"chunked body", request("/", "Transfer-Encoding: chunked") + "0\r\n\r\n", 400, counters.RefusedHandshake},
			{"no upgrade", "GET / HTTP/1.1\r\nHost: h\r\n\r\n", 426, counters.RefusedHandshake},
			{"version 8", strings.Replace(ok, "Version: 13", "Version: 8", 1), 426, counters.RefusedHandshake},
			{"short key", strings.Replace(ok, requestKey, "YWJj", 1), 400, counters.RefusedHandshake},
			{"no key", strings.Replace(ok, "Sec-WebSocket-Key", "X-Key", 1), 400, counters.RefusedHandshake},
			{"not HTTP", "hello\r\n\r\n", 400, counters.RefusedHandshake},
			{"no host", strings.Replace(ok, "Host: host\r\n", "", 1), 400, counters.RefusedHandshake},
			{"long header", request("/", "X: "+strings.Repeat("x", 33<<10)), 431, counters.RefusedHandshake},
		}
		for _, tc := range cases {
			before := h.count.Refused.Get(tc.refusal)
			cl := h.open(t, tc.raw)
			resp, err := cl.response()
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
				continue
			}
			if resp.StatusCode != tc.status {
				t.Errorf("%s: %s, want %d", tc.name, resp.Status, tc.status)
			}
			if resp.StatusCode == http.StatusUpgradeRequired && resp.Header.Get("Sec-WebSocket-Version") != "13" {
				t.Errorf("%s: version not told", tc.name)
			}
			if _, err := io.Copy(io.Discard, cl.br); err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: connection stays: %v", tc.name, err)
			}
			synctest.Wait()
			if n := h.count.Refused.Get(tc.refusal) - before; n != 1 {
				t.Errorf("%s: counted %d times", tc.name, n)
			}
		}
		if n := h.count.Accepted.Total(); n != 0 {
			t.Errorf("accepted %d", n)
		}
	})
}

// A load balancer's health check of the game port is answered, and does not count as a refused connection. Long
// headers, such as a browser's cookies for the whole host name, and headers on several lines are accepted.
func TestHealthAndLongHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		cl := h.open(t, "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
		resp, err := cl.response()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Errorf("%v, %v", resp, err)
		}
		if text, err := io.ReadAll(resp.Body); string(text) != "ok\n" || err != nil {
			t.Errorf("%q, %v", text, err)
		}
		h.open(t, request("/", "Cookie: "+strings.Repeat("x", 31<<10))).upgraded()
		h.open(t, strings.Replace(request("/"), "Connection: keep-alive, Upgrade", "Connection: keep-alive\r\nConnection: upgrade", 1)).upgraded()
		synctest.Wait()
		if refused, accepted := h.count.Refused.Total(), h.count.Accepted.Total(); refused != 0 || accepted != 2 {
			t.Errorf("%d refused, %d accepted", refused, accepted)
		}
	})
}

// TestEarlyInput sends frames together with the request. They are larger than the read buffer.
func TestEarlyInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		for _, path := range bothParsers {
			raw := request(path)
			for range 3 {
				raw += string(binaryFrame(strings.Repeat("early", 200)))
			}
			cl := h.open(t, raw+string(binaryFrame("last")))
			cl.upgraded()
			p := h.accepted(t)
			p.await(t, "early frames", func() bool { return len(p.units) == 4 && p.units[3] == "last" })
			cl.write(binaryFrame("later"))
			p.await(t, "later", func() bool { return len(p.units) == 5 })
		}
	})
}

// bothParsers are two paths: parseUsual parses requests for the first, net/http those for the second.
var bothParsers = []string{"/websocket", "/"}

// A request that arrives in pieces is parsed by net/http, even if parseUsual could parse it.
func TestRequestInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		raw := request("/websocket")
		for _, at := range []int{1, len(raw) / 2, len(raw) - 1} {
			cl := h.open(t, raw[:at])
			synctest.Wait() // the host has read it
			cl.write([]byte(raw[at:]))
			cl.upgraded()
			cl.write(binaryFrame("x"))
			p := h.accepted(t)
			p.await(t, "frame", func() bool { return len(p.units) == 1 })
		}
	})
}

// RL-201.
func TestSlowloris(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := new(counters.Set)
		adm := transport.NewAdmission(transport.AdmissionLimits{PendingMax: 10}, count, time.Now)
		h := serve(t, Options{Counters: count, Admission: adm}, newRecorder())
		silent := h.open(t, "")
		slow := h.open(t, "GET / HT")
		begun := time.Now()
		_, _ = slow.conn.Write([]byte("T"))
		for _, cl := range []*client{silent, slow} {
			if b, _ := io.ReadAll(cl.br); len(b) > 0 {
				t.Logf("answer %q", b)
			}
		}
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("took %v", took)
		}
		synctest.Wait()
		if pending, refused := adm.Pending(), count.Refused.Get(counters.RefusedHandshake); pending != 0 || refused != 2 {
			t.Errorf("%d pending, %d refused", pending, refused)
		}
	})
}

// A connection over the limit waits and is then admitted. A connection that is silent for too long is
// evicted. If it is open, it gets a close frame.
func TestConnectionsWaitForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := new(counters.Set)
		adm := transport.NewAdmission(transport.AdmissionLimits{PendingPerIPMax: 1, PendingMax: 1, HeldMax: 2}, count, time.Now)
		h := serve(t, Options{Admission: adm, Counters: count}, newRecorder())
		from := h.network.Node() // all clients have its address
		h.node = from
		waits := func(accepted int64) {
			t.Helper()
			synctest.Wait()
			if held, n := count.Held.Load(), count.Accepted.Total(); held != 1 || n != accepted {
				t.Errorf("%d wait, %d accepted", held, n)
			}
		}
		_, first := h.connect(t)
		second := h.open(t, request("/"))
		waits(1)
		first.LoggedIn()
		second.upgraded()
		begun := time.Now()
		third := h.open(t, request("/"))
		waits(2)
		third.upgraded()
		if took := time.Since(begun); took < time.Second || took > 1100*time.Millisecond {
			t.Errorf("the silent one gave way after %v", took)
		}
		second.expectClose(uint16(messages.CloseTryLater)) // it has not sent a LOGIN
		_ = h.open(t, "GET / HTTP/1.1\r")                  // Close cuts it
		waits(3)
		if n := count.Refused.Get(counters.RefusedEvicted); n != 1 || count.Refused.Total() != n {
			t.Errorf("%d gave way, %d refused", n, count.Refused.Total())
		}
	})
}

// proxied opens a connection as a load balancer does, for a client with the given IP address.
func proxied(t *testing.T, h *host, ip string, more string) *client {
	t.Helper()
	b := append([]byte("\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c"), netip.MustParseAddr(ip).AsSlice()...)
	return h.open(t, string(append(b, 10, 0, 0, 1, 0x30, 0x39, 0x07, 0x6c))+more)
}

// Behind a load balancer, a connection counts for the client's address, not for the load balancer's.
func TestProxyProtocol(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		count := new(counters.Set)
		adm := transport.NewAdmission(transport.AdmissionLimits{PendingPerIPMax: 1, PendingMax: 4}, count, time.Now)
		proxies, err := transport.ParseProxies([]string{"10.0.0.0/8"}) // every address of the network is a proxy
		if err != nil {
			t.Fatal(err)
		}
		h := serve(t, Options{Admission: adm, Counters: count, Proxies: proxies}, newRecorder())
		for i, ip := range []string{"192.0.2.1", "192.0.2.2"} { // the limit is one connection each
			proxied(t, h, ip, request(bothParsers[i])).upgraded()
			if p := h.accepted(t); p.RemoteAddr().String() != ip+":12345" {
				t.Errorf("%s is %v", ip, p.RemoteAddr())
			}
		}
		proxied(t, h, "192.0.2.1", request("/")).expectEnd()
		own := h.open(t, "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00"+request("/"))
		own.upgraded()
		if p := h.accepted(t); p.RemoteAddr() != addrPort(own.conn.LocalAddr()) {
			t.Errorf("the balancer itself is %v", p.RemoteAddr())
		}
		h.open(t, request("/")).expectEnd() // without a header
		hastyCount := new(counters.Set)
		hasty := serve(t, Options{Counters: hastyCount, Proxies: proxies}, newRecorder())
		hasty.open(t, "").expectEnd() // sends nothing
		synctest.Wait()
		if n, hasty := count.Refused.Get(counters.RefusedProxy), hastyCount.Refused.Get(counters.RefusedProxy); n != 1 || hasty != 1 {
			t.Errorf("%d and %d refused without a header", n, hasty)
		}
		if n := count.Refused.Get(counters.RefusedPendingPerIP); n != 1 {
			t.Errorf("%d refused per address", n)
		}
	})
}

func TestProxyProtocolInFrontOfTLS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cert, _ := transporttest.Trusted()
		proxies, _ := transport.ParseProxies([]string{"10.0.0.0/8"})
		h := serve(t, Options{TLS: &tls.Config{Certificates: []tls.Certificate{*cert}}, Proxies: proxies}, newRecorder())
		for _, path := range bothParsers {
			raw := proxied(t, h, "192.0.2.9", "")
			secure := tls.Client(raw.conn, &tls.Config{InsecureSkipVerify: true})
			if _, err := io.WriteString(secure, request(path)); err != nil {
				t.Fatal(err)
			}
			if p := h.accepted(t); p.RemoteAddr().String() != "192.0.2.9:12345" || p.Channel() != counters.WSS {
				t.Errorf("%s: it is %v over %v", path, p.RemoteAddr(), p.Channel())
			}
		}
	})
}

func TestCloseStopsAcceptingAndKeepsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := serve(t, Options{}, newRecorder())
		cl, p := h.connect(t)
		half := h.open(t, "GET / HT")
		synctest.Wait()
		if n := h.Len(); n != 1 {
			t.Errorf("%d connections, beside half a request", n)
		}
		ctx := t.Context()
		if err := h.Listener.Close(ctx); err != nil {
			t.Fatal(err)
		}
		if err := h.Listener.Close(ctx); err != nil {
			t.Fatal(err)
		}
		half.expectEnd()
		if _, err := h.socket(t); err == nil {
			t.Error("still accepting")
		}
		cl.write(binaryFrame("still here"))
		p.await(t, "message after Close", func() bool { return len(p.units) == 1 })
		h.CloseAll(messages.CloseGoingAway)
		cl.expectClose(1001)
		cl.write(closeFrame(1001, ""))
		if err := h.Wait(ctx); err != nil {
			t.Error(err)
		}
		if err := h.Serve(h.recorder); err != nil {
			t.Errorf("Serve after Close: %v", err)
		}
	})
}

func TestDraining(t *testing.T) {
	l := newListener(Options{}.withDefaults())
	l.closed = true
	for i, path := range bothParsers {
		ours, theirs := net.Pipe()
		l.handshakes.Add(1)
		go (&handshakingConn{Conn: ours, l: l}).serve()
		if _, err := io.WriteString(theirs, request(path)); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(bufio.NewReader(theirs), nil)
		if err != nil || resp.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("%s: %v %v", path, resp, err)
		}
		_ = theirs.Close()
		l.handshakes.Wait()
		if n := l.opt.Counters.Refused.Get(counters.RefusedDraining); int(n) != i+1 || l.opt.Counters.Refused.Total() != n {
			t.Errorf("%s: %d refused while draining", path, n)
		}
	}

	// A connection that completes its handshake while the listener closes gets a close frame.
	r := newRecorder()
	l.acceptor = r
	ours, theirs := net.Pipe()
	defer theirs.Close()
	l.open(&handshakingConn{Conn: ours, l: l}, nil)
	cl := &client{t: t, conn: theirs, br: bufio.NewReader(theirs)}
	cl.expect(0x88, "\x03\xe9host_draining")
	_ = theirs.Close()
	if end := (<-r.conns).awaitEnd(t); end.ByHost != messages.CloseGoingAway {
		t.Errorf("end %+v", end)
	}
}

func TestOptions(t *testing.T) {
	for name, opt := range map[string]Options{
		"timeout": {WriteTimeout: -1},
		"address": {Addr: "127.0.0.1:not-a-port"},
	} {
		if l, err := Listen(opt); err == nil {
			t.Errorf("%s: accepted", name)
			_ = l.Close(context.Background())
		}
	}
	n := memnet.New(1)
	defer n.Close()
	given, err := n.Node().Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen(Options{Listener: given})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(t.Context()); err != nil { // without Serve
		t.Error(err)
	}
	if _, err := given.Accept(); err == nil {
		t.Error("its listener is open")
	}
}
