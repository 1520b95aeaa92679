package host

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/transport/client"
	"troupe/transport/transporttest/memnet"
)

// testHost is a host that a test has started, together with its callers. Except for browser tests, they use a
// network in memory and the virtual time of a synctest bubble.
type testHost struct {
	*Host
	t    *testing.T
	net  memnet.Machine
	web  *http.Transport
	csrf string // CSRF token of the console
}

// memory returns an in-memory network that closes at the end of the test.
func memory(t *testing.T) memnet.Machine {
	network := memnet.New(1)
	t.Cleanup(func() {
		network.Close()
		time.Sleep(time.Minute) // lets sleeping goroutines of libraries end
	})
	return network.Machine()
}

func begin(t *testing.T, o Options) *testHost {
	t.Helper()
	if o.Network == nil {
		o.Network = memory(t)
	}
	h := start(t, o)
	h.net = o.Network.(memnet.Machine)
	h.web.DialContext = h.net.DialContext
	return h
}

// start starts a host. Without a network in its options, the host uses real sockets.
func start(t *testing.T, o Options) *testHost {
	t.Helper()
	h, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	web := new(http.Transport)
	t.Cleanup(web.CloseIdleConnections)
	return &testHost{Host: h, t: t, web: web}
}

// config returns a configuration without TLS and with a store in memory.
func config(t *testing.T) Config {
	c := Defaults()
	for _, addr := range []*string{&c.API.Addr, &c.WebSocket.Addr, &c.Fast.Addr} {
		*addr = "127.0.0.1:0"
	}
	c.WSS.Addr, c.DTLS.Addr, c.KCP.Addr = "", "", ""
	c.Log.GameSessions.Dir = t.TempDir()
	c.Store = Store{Memory: true}
	return c
}

// withTLS opens the secured listeners.
func withTLS(t *testing.T, c *Config) {
	c.WSS.Addr, c.DTLS.Addr, c.TLS.Dir = "127.0.0.1:0", "127.0.0.1:0", t.TempDir()
}

// ask sends a request. headers are pairs of names and values.
func (h *testHost) ask(method, path, body string, headers ...string) *http.Response {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.Addrs().APIURL+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	return h.send(r)
}

func (h *testHost) send(r *http.Request) *http.Response {
	h.t.Helper()
	a, err := h.web.RoundTrip(r)
	if err != nil {
		h.t.Fatal(err)
	}
	return a
}

// call sends a request, with the console's token if there is one, and returns the response.
func (h *testHost) call(method, path, body string, headers ...string) (int, http.Header, string) {
	h.t.Helper()
	if h.csrf != "" {
		headers = append(headers, "X-CSRF-Token", h.csrf)
	}
	a := h.ask(method, path, body, headers...)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		h.t.Error(err)
	}
	return a.StatusCode, a.Header, string(text)
}

// act is call for the console. It requests the token first if necessary.
func (h *testHost) act(method, path string) (int, string) {
	h.t.Helper()
	if h.csrf == "" {
		var me struct{ CSRFToken string }
		if _, _, text := h.call("GET", "/admin/v1/me", ""); json.Unmarshal([]byte(text), &me) != nil || me.CSRFToken == "" {
			h.t.Fatal(text)
		}
		h.csrf = me.CSRFToken
	}
	status, _, body := h.call(method, "/admin/v1"+path, "")
	return status, body
}

// seat requests a player session at /dev/join.
func (h *testHost) seat(body string, headers ...string) (a devJoinAnswer) {
	h.t.Helper()
	status, _, text := h.call("POST", devJoinPath, body, headers...)
	if err := json.Unmarshal([]byte(text), &a); status != 200 || err != nil {
		h.t.Fatalf("%d %s", status, text)
	}
	return a
}

// dial logs a player in.
func (h *testHost) dial(playerSession string, fast bool) (*client.Client, error) {
	o := client.Options{Addr: h.Addrs().WS, PlayerSessionID: playerSession, Fast: fast}
	if h.net != (memnet.Machine{}) {
		o.DialContext = func(ctx context.Context, network string, local netip.Addr, address string) (_ net.Conn, err error) {
			return h.net.Dial(ctx, network, local, address)
		}
	}
	c, err := client.Dial(h.t.Context(), o)
	if err == nil {
		h.t.Cleanup(c.Close)
	}
	return c, err
}

// plays requests a player session at /dev/join and logs the player in.
func (h *testHost) plays(player string) *client.Client {
	h.t.Helper()
	c, err := h.dial(h.seat(`{"playerId": "`+player+`"}`).PlayerSessionID, false)
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// until polls until ok returns true. After a minute of the test's time, it fails the test.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what, "does not come")
		}
	}
}

// sharedLog is a log that several goroutines can write to.
type sharedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *sharedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *sharedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *sharedLog) at(level zerolog.Level) zerolog.Logger { return zerolog.New(l).Level(level) }
