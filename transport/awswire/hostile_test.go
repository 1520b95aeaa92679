package awswire

import (
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/smithy-go/encoding/cbor"
)

// Small bodies that would decode to very large values, and deeply nested bodies, are refused without using
// much memory.
func TestAPIBodiesThatGrow(t *testing.T) {
	s := newAPI(t)
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	for name, c := range map[string]struct{ protocol, operation, body string }{
		"structures":            {"json", "CreateGameSession", `{"GameProperties":` + list(1_000_000, "{}") + `}`},
		"nulls":                 {"json", "CreateGameSession", `{"GameProperties":` + list(800_000, "null") + `}`},
		"texts":                 {"json", "CreatePlayerSessions", `{"PlayerIds":` + list(250_000, `""`) + `}`},
		"names":                 {"json", "CreatePlayerSessions", `{"PlayerDataMap":{` + strings.Repeat(`"":"",`, 150_000) + `"":""}}`},
		"unknown, wide":         {"json", "ListFleets", `{"X":` + list(500_000, "0") + `}`},
		"unknown, deep":         {"json", "ListFleets", `{"X":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`},
		"unknown, deep and cut": {"json", "ListFleets", `{"X":` + strings.Repeat(`{"a":`, 100_000)},
		"cbor structures":       {"cbor", "CreateGameSession", "\xa1\x6eGameProperties\x9a\x00\x10\x00\x00" + strings.Repeat("\xa0", 1<<20)},
		"cbor, deep":            {"cbor", "ListFleets", "\xa1\x61X" + strings.Repeat("\x81", 500_000) + "\x00"},
		"cbor, indefinite":      {"cbor", "ListFleets", "\xbf\x61X" + strings.Repeat("\x9f", 500_000)},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			r := newRequest(c.protocol, "http://host.example/", c.operation, []byte(c.body))
			r.Host = "host.example"
			runtime.ReadMemStats(&before)
			w := newRecorder()
			s.ServeHTTP(w, r)
			runtime.ReadMemStats(&after)
			got := decoded(t, c.protocol, w.status, w.header, w.body)
			if got.Status != http.StatusBadRequest || got.Code() != serialization {
				t.Errorf("got %d %v", got.Status, got.Body)
			}
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 16<<20+8*uint64(len(c.body)) {
				t.Errorf("%d bytes allocated for %d", grown, len(c.body))
			}
		})
	}
	// Values within the limits are accepted: a text of maximum length may contain any characters.
	data := strings.Repeat(`[{,`, 262144/3)
	body := mustJSON(members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1, "GameSessionData": data})
	served(t, s, "json", newRequest("json", "http://host.example/", "CreateGameSession", body)).OK(t)
	served(t, s, "cbor", newRequest("cbor", "http://host.example/", "CreateGameSession",
		cbor.Encode(cbor.Map{"FleetId": cbor.String(fleetOne), "MaximumPlayerSessionCount": cbor.Uint(1), "GameSessionData": cbor.String(data)}))).OK(t)
}

// recorder is a ResponseWriter that only records what is written.
type recorder struct {
	status int
	header http.Header
	body   []byte
}

func newRecorder() *recorder { return &recorder{header: http.Header{}} }

func (w *recorder) Header() http.Header { return w.header }
func (w *recorder) WriteHeader(s int)   { w.status = s }
func (w *recorder) Write(b []byte) (int, error) {
	w.body = append(w.body, b...)
	return len(b), nil
}

// one is a listener that accepts a single connection.
type one struct {
	conn chan net.Conn
	done chan struct{}
}

func (l *one) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *one) Close() error   { close(l.done); return nil }
func (l *one) Addr() net.Addr { return &net.TCPAddr{} }

// A caller who does not read the response is disconnected after a time. A caller who reads it may reuse the
// connection.
func TestAPIAnswersThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := &one{make(chan net.Conn, 1), make(chan struct{})}
		server := &http.Server{Handler: newAPI(t)}
		served := make(chan error)
		go func() { served <- server.Serve(listener) }()
		client, other := net.Pipe()
		listener.conn <- other
		const call = "POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: GameLift.ListFleets\r\nContent-Length: 2\r\n\r\n{}"
		ask := func() {
			if _, err := io.WriteString(client, call); err != nil {
				t.Error(err)
			}
		}
		buffer := make([]byte, 4096)
		ask()
		if n, err := client.Read(buffer); err != nil || !strings.HasPrefix(string(buffer[:n]), "HTTP/1.1 200") {
			t.Errorf("got %q, %v", buffer[:n], err)
		}
		time.Sleep(time.Minute)
		ask() // sends a request without reading the response
		time.Sleep(writeTimeout + time.Second)
		synctest.Wait()
		if _, err := client.Read(buffer); !errors.Is(err, io.EOF) {
			t.Errorf("got %v, want a closed connection", err)
		}
		_ = client.Close()
		_ = server.Close()
		<-served
	})
}

// Callers who announce a large body and then do not send it can only occupy memory for a limited number of
// bodies. Above that limit, large bodies are refused with the advice to retry, while usual requests are still
// served.
func TestAPIBodiesTogetherAreBounded(t *testing.T) {
	s := newAPI(t)
	var waiting sync.WaitGroup
	var ends []*io.PipeWriter
	for range bodiesMax / bodyScriptMax {
		body, end := io.Pipe()
		ends = append(ends, end)
		r := newRequest("json", "http://host.example/", "CreateScript", nil)
		r.Body, r.ContentLength = body, bodyScriptMax
		waiting.Go(func() { s.ServeHTTP(newRecorder(), r) })
	}
	for _, end := range ends {
		if _, err := io.WriteString(end, "{"); err != nil { // succeeds only if the server is reading the body
			t.Error(err)
		}
	}
	for range 3 {
		long := members{"FleetId": fleetOne, "MaximumPlayerSessionCount": 1, "GameSessionData": strings.Repeat("x", bodySmall)}
		s.call(t, "json", "CreateGameSession", long).Want(t, http.StatusBadRequest, throttled)
		s.call(t, "json", "ListFleets", members{}).OK(t)
	}
	for _, end := range ends {
		_ = end.CloseWithError(io.ErrUnexpectedEOF)
	}
	waiting.Wait()
	s.call(t, "json", "ListFleets", members{}).OK(t)
	if n := s.bodies.Load(); n != 0 {
		t.Errorf("%d bytes are still promised", n)
	}
}
