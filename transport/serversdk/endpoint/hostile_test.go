package endpoint_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/messages"
	"troupe/transport/host"
	"troupe/transport/internal/rfc6455"
)

// Strangers at the endpoint's own address, with and without TLS, hold few connections, each for a few seconds, and keep no
// process out.
func TestStrangersAtTheOwnAddress(t *testing.T) {
	for name, c := range map[string]struct {
		tls  bool
		sent string
	}{
		"silent":         {false, ""},
		"half a request": {false, "GET /?pID=p HTTP/1.1\r\nHost: h\r\nUpgrade: web"},
		"no TLS":         {true, "\x16\x03\x01"},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := begin(t, func(o *host.Config) {
				if o.ServerSDK.Addr = "127.0.0.1:0"; c.tls {
					o.API.TLS, o.TLS.Dir = true, t.TempDir()
				}
			})
			u, err := url.Parse(w.Host.Host.Addrs().ServerSDK)
			if err != nil {
				t.Fatal(err)
			}
			dial := func() net.Conn {
				nc, err := w.Net.DialContext(t.Context(), "tcp", u.Host)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { nc.Close() })
				return nc
			}
			const strangers = 1500
			var open atomic.Int64
			ended := make(chan time.Duration, strangers)
			for range strangers {
				nc, at := dial(), time.Now()
				open.Add(1)
				go func() {
					_, _ = io.Copy(io.Discard, nc)
					open.Add(-1)
					ended <- time.Since(at)
				}()
				_, _ = io.WriteString(nc, c.sent)
			}
			time.Sleep(time.Second)
			synctest.Wait()
			if n := open.Load(); n != 1024 {
				t.Errorf("%s: %d connections", name, n)
			}
			nc := dial()
			if c.tls {
				nc = tls.Client(nc, &tls.Config{InsecureSkipVerify: true})
			}
			p, status := w.shake(nc, "/", w.query("p"))
			if p == nil {
				t.Fatal(name, status)
			}
			p.ready(1)
			for range strangers {
				if d := <-ended; d > 6*time.Second { // some were accepted after a second
					t.Fatalf("%s: a connection was held for %v", name, d)
				}
			}
			p.beat(true)
		})
	}
}

// A stranger who opens ever more connections takes no place from another address: not even for a moment.
func TestAStrangerWithManyConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, func(o *host.Config) { o.ServerSDK.Addr, o.API.Insecure = "[::]:0", true })
		u, err := url.Parse(w.Host.Host.Addrs().ServerSDK)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		dial := func(from string) (net.Conn, error) {
			nc, err := w.Net.DialFrom(ctx, "tcp", from, "[2001:db8::1]:"+u.Port())
			if err == nil {
				context.AfterFunc(ctx, func() { nc.Close() })
			}
			return nc, err
		}
		var strangers sync.WaitGroup
		for i := range 1100 {
			strangers.Go(func() {
				for {
					nc, err := dial(fmt.Sprintf("2001:db8:1:1::%x", i+1))
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, nc)
				}
			})
		}
		time.Sleep(10 * time.Millisecond) // the network tries again at other times
		for i := range 20 {
			time.Sleep(100 * time.Millisecond)
			at := time.Now()
			nc, err := dial("2001:db8:1:2::1")
			if err != nil {
				t.Fatal(err)
			}
			p, status := w.shake(nc, "/", w.query(fmt.Sprint("p", i)))
			if p == nil || time.Since(at) != 0 {
				t.Errorf("%d: %d after %v", i, status, time.Since(at))
			}
		}
		cancel()
		strangers.Wait()
	})
}

// All processes of one network come back at once: each handshake is answered, also those for which there is no room at first.
func TestACrowdBehindOneAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, func(o *host.Config) { o.ServerSDK.Addr = "127.0.0.1:0" })
		u, err := url.Parse(w.Host.Host.Addrs().ServerSDK)
		if err != nil {
			t.Fatal(err)
		}
		var answered atomic.Int64
		var crowd sync.WaitGroup
		for range 3000 {
			nc, err := w.Net.DialContext(t.Context(), "tcp", u.Host)
			if err != nil {
				t.Fatal(err)
			}
			crowd.Go(func() {
				defer nc.Close()
				time.Sleep(500 * time.Millisecond)
				_, _ = io.WriteString(nc, "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
				if text, _ := io.ReadAll(nc); strings.HasPrefix(string(text), "HTTP/1.1 4") {
					answered.Add(1)
				}
			})
		}
		crowd.Wait()
		if n := answered.Load(); n != 3000 {
			t.Errorf("%d of 3000 are answered", n)
		}
	})
}

// SS-38 to SS-41, SS-122, SS-123 and the hostile rest of the table: each costs the process's own connection at most.
func TestHostile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t)
		p := w.connect("p").ready(1)
		p.call(400, "Nonsense", "")
		p.frame(rfc6455.Text, []byte("{"))
		if m := p.next(); m.StatusCode != 400 {
			t.Error(m.text)
		}
		p.frame(rfc6455.Text, []byte(`{"HealthStatus":true,"x":{"y":[1]},"RequestId":"q","Action":"HeartbeatServerProcess","z":null}`))
		if m := p.next(); m.StatusCode != 200 || m.RequestId != "q" {
			t.Error(m.text)
		}
		g := w.hosts(p, 2)
		other := w.connect("o").ready(2)
		theirs := w.hosts(other, 2)
		foreign := w.players(theirs.ID, "x")[0]
		p.call(404, "AcceptPlayerSession", seat(theirs.ID, foreign))
		p.call(400, "AcceptPlayerSession", seat(g.ID, foreign))
		p.call(404, "UpdatePlayerSessionCreationPolicy", of(theirs.ID)+`,"PlayerSessionPolicy":"DENY_ALL"`)
		if w.player(foreign) != messages.PlayerSessionReserved {
			t.Error(w.player(foreign))
		}
		p.call(400, "AcceptPlayerSession", of(g.ID)+`,"x":"`+strings.Repeat("a", 1<<20-400)+`"`) // 1 MB passes (SS-40)
		for range 700 {
			p.frame(rfc6455.Text, []byte(`{"Action":"HeartbeatServerProcess","RequestId":"f","HealthStatus":true}`))
		}
		many := 0
		for range 700 {
			if p.next().StatusCode == 429 {
				many++
			}
		}
		if many < 200 || many > 300 {
			t.Errorf("%d were too many", many)
		}
		time.Sleep(time.Minute)
		p.beat(true)

		for name, c := range map[string]struct {
			send func(p *process)
			code int
		}{
			"too large": {func(p *process) { p.frame(rfc6455.Text, make([]byte, 1<<20+1)) }, 1009},
			"binary":    {func(p *process) { p.frame(rfc6455.Binary, []byte("x")) }, 1003},
			"unmasked":  {func(p *process) { p.nc.Write([]byte{0x81, 1, 'x'}) }, 1002},
			"reserved":  {func(p *process) { p.nc.Write([]byte{0xf1, 0x81, 0, 0, 0, 0, 'x'}) }, 1002},
			"continues": {func(p *process) { p.frame(rfc6455.Continuation, []byte("x")) }, 1002},
			"pongs": {func(p *process) {
				for range 1700 {
					p.frame(rfc6455.Pong, nil)
				}
			}, 1008},
			"flood": {func(p *process) {
				for range 1700 {
					p.frame(rfc6455.Text, []byte(`{"Action":"HeartbeatServerProcess","RequestId":"f","HealthStatus":true}`))
				}
			}, 1008},
		} {
			q := w.connect("p")
			go c.send(q)
			if code := q.ends(); code != c.code {
				t.Errorf("%s: closed with %d, not %d", name, code, c.code)
			}
		}
		p = w.connect("p")
		p.beat(true)
		if s := w.game(g.ID).Status; s != messages.GameSessionActive {
			t.Error(s)
		}
		other.beat(true)
	})
}
