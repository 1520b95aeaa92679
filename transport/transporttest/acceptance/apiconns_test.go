package acceptance_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// idleConns opens n connections to the API from one address and sends the same bytes on each.
func (h *testHost) idleConns(n int, from, send string) {
	h.Helper()
	for range n {
		nc, err := h.Net.DialFrom(h.context(), "tcp", from, h.host.Addrs().API)
		if err != nil {
			h.Fatal(err)
		}
		h.Cleanup(func() { nc.Close() })
		if _, err := io.WriteString(nc, send); err != nil && send != "" {
			h.Fatal(err)
		}
	}
}

// page requests a page on a new connection from an address.
func (h *testHost) page(from, path string) (status int, text string) {
	h.Helper()
	t := &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return h.Net.DialFrom(ctx, network, from, address)
		}}
	defer t.CloseIdleConnections()
	resp, err := (&http.Client{Transport: t, Timeout: patience}).Get("http://" + h.host.Addrs().API + path)
	if err != nil {
		h.Errorf("%s from %s: %v", path, from, err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		h.Errorf("%s from %s: %v", path, from, err)
	}
	return resp.StatusCode, string(b)
}

// An address that opens as many connections to the API as possible blocks nobody: neither health probes, also
// from that address, nor other callers.
func TestIdleConnectionsDoNotTakeTheAPI(t *testing.T) {
	for name, send := range map[string]string{
		"silent": "", "half a header": "POST / HTTP/1.1\r\nHost: x\r\n",
		"half a body": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\nX-Amz-Target: GameLift.ListFleets\r\n\r\n{",
		"one request": "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		bubble(t, name, func(t *testing.T) {
			h := startHost(t, nil, nil)
			h.T = t
			n := 300 // more than the limit for one address
			if send == "" {
				n = 1100 // more than the limit for all connections
			}
			h.idleConns(n, "127.0.0.5", send)
			for _, from := range []string{"127.0.0.5", "127.0.0.1"} {
				for path, want := range map[string]string{"/healthz": "ok", "/readyz": "ready"} {
					if status, text := h.page(from, path); status != 200 || strings.TrimSpace(text) != want {
						t.Errorf("%s from %s: %d %q", path, from, status, text)
					}
				}
			}
			h.newGame(2)
		})
	}
}

// The connection of a caller with regular requests stays open.
func TestConnectionsInUseStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startHost(t, nil, nil)
		nc, err := h.Net.DialContext(h.context(), "tcp", h.host.Addrs().API)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		in := bufio.NewReader(nc)
		ask := func(when string) {
			t.Helper()
			_ = nc.SetDeadline(time.Now().Add(patience))
			fmt.Fprint(nc, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
			resp, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatalf("%s: %v", when, err)
			}
			if _, err := io.ReadAll(resp.Body); err != nil {
				t.Fatal(err)
			}
		}
		ask("first") // immediately, because a connection without a request is closed after 5 s
		for i := range 5 {
			h.idleConns(250, fmt.Sprintf("127.0.0.%d", 10+i), "")
			ask(fmt.Sprintf("round %d", i))
		}
	})
}
