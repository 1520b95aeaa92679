package endpoint_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"troupe/transport/host"
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
			const strangers = 600
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
			synctest.Wait()
			if n := open.Load(); n != 256 {
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
				if d := <-ended; d > 5*time.Second {
					t.Fatalf("%s: a connection was held for %v", name, d)
				}
			}
			p.beat(true)
		})
	}
}
