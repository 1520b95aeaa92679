package host

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/store"
	"troupe/messages/counters"
	"troupe/transport"
	"troupe/transport/awswire"
)

// The host closes the connection of a caller who sends too slowly, or sends too many header bytes.
func TestSlowCallersAreCutOff(t *testing.T) {
	for name, c := range map[string]struct {
		sent   string
		after  time.Duration
		answer string // beginning of the response
	}{
		"nothing":     {"", 5 * time.Second, ""},
		"half a head": {"POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: Game", 5 * time.Second, ""},
		"half a body": {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", time.Minute, "HTTP/1.1 400 "},
		"huge head":   {"POST / HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 32<<10) + "\r\n\r\n", 0, "HTTP/1.1 431 "},
	} {
		synctest.Test(t, func(t *testing.T) {
			at := memory(t)
			ln, err := at.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			server := newAPIServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if _, err := io.ReadAll(r.Body); err != nil {
					w.WriteHeader(http.StatusBadRequest)
				}
			}))
			go server.Serve(ln)
			defer server.Close()
			conn, err := at.DialContext(t.Context(), "tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			start := time.Now()
			_, _ = io.WriteString(conn, c.sent)
			answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
			said := ""
			if err == nil {
				said = answer.Proto + " " + answer.Status
			}
			if took := time.Since(start); took != c.after || !strings.HasPrefix(said, c.answer) || c.answer == "" && err == nil {
				t.Errorf("%s: after %v: %q, %v", name, took, said, err)
			}
		})
	}
}

// Pages with messages of players are for operators only, whatever address the request comes from. Other pages
// are not guarded.
func TestGuardedPages(t *testing.T) {
	for _, c := range []struct {
		path, from string
		status     int
	}{
		{"/debug/gamesession-log", "127.0.0.1:1", 200},
		{"/debug/gamesession-log", "[::1]:1", 200},
		{"/debug/gamesession-log", "[::ffff:127.0.0.1]:1", 200},
		{"/debug/gamesession-log", "192.0.2.1:1", 403},
		{"/debug/gamesession-log", "odd", 403},
		{"/debug/", "192.0.2.1:1", 403},
		{"/metrics", "192.0.2.1:1", 200},
		{"/", "192.0.2.1:1", 200},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://localhost"+c.path, nil)
		r.RemoteAddr = c.from
		w := httptest.NewRecorder()
		g := guard{auth: awswire.Anyone, local: true}
		g.debugPages(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%+v: got %d", c, w.Code)
		}
	}
}

func TestPageKeyStays(t *testing.T) {
	s := new(store.Memory)
	first, err := pageKey(s, zerolog.Nop(), new(counters.Set))
	if err != nil || len(first) != 32 {
		t.Fatal(first, err)
	}
	s.Flush()
	if again, err := pageKey(s, zerolog.Nop(), new(counters.Set)); err != nil || !bytes.Equal(first, again) {
		t.Errorf("got %x then %x, %v", first, again, err)
	}
	if other, err := pageKey(new(store.Memory), zerolog.Nop(), new(counters.Set)); err != nil || bytes.Equal(first, other) {
		t.Errorf("two hosts share %x, %v", other, err)
	}
}

// When the service API has its maximum of connections, health probes still get an answer, and other requests
// are told to retry later. Idle connections are closed.
func TestTheReserveIsForProbes(t *testing.T) { synctest.Test(t, theReserveIsForProbes) }

func theReserveIsForProbes(t *testing.T) {
	at := memory(t)
	ln, err := at.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := newAPIConns(ln, nil)
	conns.most, conns.perSource, conns.reserveMax = 3, 2, 2
	working, release := make(chan struct{}), make(chan struct{})
	server := newAPIServer(conns.handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/work" {
			working <- struct{}{}
			<-release
		}
	})))
	server.ConnContext = rememberConn
	go server.Serve(conns)
	defer server.Close()
	get := func(from, path string) int {
		t.Helper()
		tr := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return at.DialFrom(ctx, network, from, address)
		}}
		resp, err := (&http.Client{Transport: tr}).Get("http://" + ln.Addr().String() + path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return 0
		}
		_ = resp.Body.Close()
		return resp.StatusCode
	}
	var callers sync.WaitGroup
	for _, from := range []string{"127.0.0.2", "127.0.0.2", "127.0.0.3"} {
		callers.Go(func() {
			if status := get(from, "/work"); status != http.StatusOK {
				t.Errorf("a caller got %d", status)
			}
		})
		<-working
	}
	for range 10 { // more connections than the reserve has room for
		silent, err := at.DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
	}
	for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
		if a, b, c := get(from, "/healthz"), get(from, "/readyz"), get(from, "/work"); a != 200 || b != 200 || c != 503 {
			t.Errorf("from %s: %d %d %d", from, a, b, c)
		}
	}
	close(release)
	callers.Wait()
}

// Behind a load balancer, connections count toward the limit of the balancer's client, not of the balancer.
func TestTheAPIBehindABalancer(t *testing.T) { synctest.Test(t, theAPIBehindABalancer) }

func theAPIBehindABalancer(t *testing.T) {
	at := memory(t)
	ln, err := at.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	conns := newAPIConns(ln, transport.Proxies{netip.MustParsePrefix("127.0.0.0/8")})
	conns.perSource = 1
	server := newAPIServer(conns.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })))
	server.ConnContext = rememberConn
	go server.Serve(conns)
	defer server.Close()
	open := func(header string) (*bufio.Reader, net.Conn) {
		nc, err := at.DialContext(t.Context(), "tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		io.WriteString(nc, header+"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		return bufio.NewReader(nc), nc
	}
	answer := func(in *bufio.Reader) string {
		resp, err := http.ReadResponse(in, nil)
		if err != nil {
			return "cut"
		}
		b, _ := io.ReadAll(resp.Body)
		return string(b)
	}
	from := func(last byte) string {
		return "\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02" + string(rune(last)) + "\x0a\x00\x00\x01\x30\x39\x07\x6c"
	}
	first, _ := open(from(1))
	second, _ := open(from(2))
	if a, b := answer(first), answer(second); a != "192.0.2.1:12345" || b != "192.0.2.2:12345" {
		t.Errorf("%q %q", a, b)
	}
	again, _ := open(from(1)) // the client's first connection is idle, and is closed to make room
	if a, b := answer(again), answer(first); a != "192.0.2.1:12345" || b != "cut" {
		t.Errorf("%q, then the first %q", a, b)
	}
	for range 2 { // a proxy that names its clients in an HTTP header: its connections count for no client
		if none, nc := open(""); answer(none) != nc.LocalAddr().String() {
			t.Error("without a header it is not answered")
		}
	}
	if broken, _ := open("\r\n"); answer(broken) != "cut" {
		t.Error("half a header is taken for a request")
	}
}
