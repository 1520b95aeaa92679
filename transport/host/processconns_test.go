package host

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages/counters"
	"troupe/transport"
)

// onePlace returns a listener of the Server SDK that has one place, and a function that opens a connection.
func onePlace(t *testing.T) (open func(first string) (client, host net.Conn)) {
	at := memory(t)
	ln, err := at.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	conns := newProcessConns(ln, nil, new(counters.Set))
	conns.admission = transport.NewAdmission(transport.AdmissionLimits{PendingMax: 1, HeldMax: 9, HeldFor: time.Minute}, new(counters.Set), time.Now)
	return func(first string) (client, host net.Conn) {
		t.Helper()
		client, err := at.DialContext(t.Context(), "tcp", ln.Addr().String())
		if err == nil {
			_, err = io.WriteString(client, first)
		}
		if err == nil {
			host, err = conns.Accept()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			client.Close()
			host.Close()
		})
		return client, host
	}
}

// near reports whether something happened at a time, or at the next look of the listener.
func near(d, want time.Duration) bool { return d >= want && d <= want+25*time.Millisecond }

// A connection waits for its peer only while the host reads. What the host does meanwhile, such as TLS, costs it no place, and each
// byte gives the peer another second.
func TestTheTimeOfTheHostIsNotThatOfThePeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := onePlace(t)
		began := time.Now()
		read := func(nc net.Conn) (err error, after time.Duration) {
			_, err = nc.Read(make([]byte, 1))
			return err, time.Since(began)
		}
		client, host := open("x")
		if err, d := read(host); err != nil || d != 0 {
			t.Fatal(err, d)
		}
		_, next := open("y")
		got := make(chan time.Duration, 1)
		go func() {
			_, d := read(next)
			got <- d
		}()
		time.Sleep(2 * time.Second) // TLS, and that of others
		time.AfterFunc(900*time.Millisecond, func() { io.WriteString(client, "z") })
		if err, d := read(host); err != nil || d != 2900*time.Millisecond {
			t.Errorf("%v after %v", err, d)
		}
		if err, d := read(host); err == nil || !near(d, 3900*time.Millisecond) {
			t.Errorf("%v after %v", err, d)
		}
		if d := <-got; !near(d, 3900*time.Millisecond) {
			t.Errorf("the next one after %v", d)
		}
	})
}

// A byte from time to time keeps a place for four seconds, and one more.
func TestATricklingHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := onePlace(t)
		began := time.Now()
		client, host := open("x")
		trickle := time.NewTicker(900 * time.Millisecond)
		defer trickle.Stop()
		go io.Copy(io.Discard, host)
		go func() {
			for range 20 {
				<-trickle.C
				_, _ = io.WriteString(client, "x")
			}
		}()
		_, next := open("y")
		if _, err := next.Read(make([]byte, 1)); err != nil || !near(time.Since(began), 4600*time.Millisecond) {
			t.Errorf("the next one after %v, %v", time.Since(began), err)
		}
		time.Sleep(20 * time.Second)
	})
}

// Behind a load balancer the client has the place, not the balancer, whose own connections are served, too.
func TestProcessesBehindABalancer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := memory(t)
		ln, err := at.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		conns := newProcessConns(ln, transport.Proxies{netip.MustParsePrefix("127.0.0.0/8")}, new(counters.Set))
		server := newAPIServer(conns.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })))
		server.ConnContext = rememberConn
		go server.Serve(conns)
		defer server.Close()
		for header, want := range map[string]string{
			"\r\n\r\n\x00\r\nQUIT\n\x21\x11\x00\x0c\xc0\x00\x02\x01\x0a\x00\x00\x01\x30\x39\x07\x6c": "192.0.2.1:12345",
			"\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00":                                                 "",
			"":                                                                                       "",
		} {
			nc, err := at.DialContext(t.Context(), "tcp", ln.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			io.WriteString(nc, header+"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			resp, err := http.ReadResponse(bufio.NewReader(nc), nil)
			if err != nil {
				t.Fatalf("%q: %v", header, err)
			}
			if want == "" {
				want = nc.LocalAddr().String()
			}
			if text, _ := io.ReadAll(resp.Body); string(text) != want {
				t.Errorf("%q: %q", header, text)
			}
			nc.Close()
		}
		synctest.Wait()
		if n := conns.admission.Pending(); n != 0 {
			t.Errorf("%d places are taken", n)
		}
	})
}
