package sdkclient

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lxzan/gws"

	"troupe/transport/transporttest/memnet"
)

// endpoint is a fake SDK endpoint in the virtual time of a bubble.
type endpoint struct {
	t     *testing.T
	start time.Time
	m     memnet.Machine
	url   string

	mu         sync.Mutex
	status     int                                                              // of handshakes that are refused; 0: accept
	takes      time.Duration                                                    // until a handshake is answered
	answer     func(conn int, action, id string, frame map[string]any) []string // nil: 200
	handshakes []handshake
	frames     []frame
	conns      []*gws.Conn
	closes     []closing
}

type handshake struct {
	at    time.Duration
	path  string
	raw   string
	query url.Values
	agent string
}

type frame struct {
	at     time.Duration
	conn   int
	action string
	id     string
	raw    string
}

type closing struct {
	at   time.Duration
	conn int
	code int // 0: without a close frame
}

type side struct {
	gws.BuiltinEventHandler
	e *endpoint
	n int
}

func newEndpoint(t *testing.T) *endpoint {
	network := memnet.New(1)
	t.Cleanup(network.Close)
	e := &endpoint{t: t, start: time.Now(), m: network.Machine()}
	ln, err := e.m.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	e.url = "ws://" + ln.Addr().String() + "/server-sdk"
	server := &http.Server{Handler: e}
	var wg sync.WaitGroup
	wg.Go(func() { _ = server.Serve(ln) })
	t.Cleanup(func() {
		_ = server.Close()
		e.mu.Lock()
		for _, c := range e.conns {
			_ = c.NetConn().Close()
		}
		e.mu.Unlock()
		wg.Wait()
	})
	return e
}

func (e *endpoint) since() time.Duration { return time.Since(e.start).Round(time.Millisecond) }

// ServeHTTP implements http.Handler.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.handshakes = append(e.handshakes, handshake{e.since(), r.URL.Path, r.URL.RawQuery, r.URL.Query(), r.UserAgent()})
	status, n, takes := e.status, len(e.conns), e.takes
	e.mu.Unlock()
	time.Sleep(takes)
	if status != 0 {
		http.Error(w, "refused", status)
		return
	}
	conn, err := gws.NewUpgrader(&side{e: e, n: n}, nil).Upgrade(w, r)
	if err != nil {
		return // the process has gone
	}
	e.mu.Lock()
	e.conns = append(e.conns, conn)
	e.mu.Unlock()
	conn.ReadLoop()
}

// OnMessage implements gws.Event.
func (s *side) OnMessage(conn *gws.Conn, m *gws.Message) {
	e := s.e
	raw := m.Bytes()
	var head map[string]any
	if err := json.Unmarshal(raw, &head); err != nil {
		e.t.Errorf("%s: %v", raw, err)
	}
	action, _ := head["Action"].(string)
	id, _ := head["RequestId"].(string)
	e.mu.Lock()
	e.frames = append(e.frames, frame{e.since(), s.n, action, id, string(raw)})
	answer := e.answer
	e.mu.Unlock()
	_ = m.Close()
	answers := []string{ok(action, id)}
	if answer != nil {
		answers = answer(s.n, action, id, head)
	}
	for _, a := range answers {
		_ = conn.WriteString(a)
	}
}

// OnClose implements gws.Event.
func (s *side) OnClose(_ *gws.Conn, err error) {
	code := 0
	if c, is := err.(*gws.CloseError); is { //nolint:errorlint // gws wraps nothing
		code = int(c.Code)
	}
	s.e.mu.Lock()
	defer s.e.mu.Unlock()
	s.e.closes = append(s.e.closes, closing{s.e.since(), s.n, code})
}

func ok(action, id string) string {
	return `{"Action":"` + action + `","RequestId":"` + id + `","StatusCode":200}`
}

func (e *endpoint) set(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	f()
}

// push writes a frame on the newest connection, or on connection n.
func (e *endpoint) push(text string, n ...int) {
	e.t.Helper()
	synctest.Wait() // the endpoint may not have noted the connection yet
	e.mu.Lock()
	conn := e.conns[len(e.conns)-1]
	if len(n) > 0 {
		conn = e.conns[n[0]]
	}
	e.mu.Unlock()
	if err := conn.WriteString(text); err != nil {
		e.t.Error(err)
	}
}

// lose ends the newest connection without a close frame.
func (e *endpoint) lose() {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.conns[len(e.conns)-1].NetConn().Close()
}

func (e *endpoint) close(n int, code uint16) {
	e.mu.Lock()
	conn := e.conns[n]
	e.mu.Unlock()
	_ = conn.WriteClose(code, nil)
}

func (e *endpoint) seen() []handshake {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.handshakes)
}

func (e *endpoint) ended() []closing {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.closes)
}

func (e *endpoint) all() []frame {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.frames)
}

// of returns the frames of an action.
func (e *endpoint) of(action string) (frames []frame) {
	for _, f := range e.all() {
		if f.action == action {
			frames = append(frames, f)
		}
	}
	return frames
}

func (e *endpoint) options(flavor Flavor) Options {
	return Options{
		URL: e.url, ProcessID: "proc_42.a", HostID: "host-01", FleetID: "fleet-1", AuthToken: "token-1", Flavor: flavor,
		Timing: Timing{HealthJitter: -1}, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			return e.m.DialContext(ctx, network, address)
		},
	}
}

// process returns a process, which ends with the test.
func (e *endpoint) process(o Options) *Process {
	e.t.Helper()
	p, err := Init(e.t.Context(), o)
	if err != nil {
		e.t.Fatal(err)
	}
	e.t.Cleanup(func() {
		p.Destroy()
		p.Wait()
	})
	return p
}

func (e *endpoint) readyProcess(o Options) *Process {
	e.t.Helper()
	p := e.process(o)
	if err := p.Ready(e.t.Context(), 7777); err != nil {
		e.t.Fatal(err)
	}
	return p
}
