package websocket

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"

	"troupe/transport/internal/rfc6455"
)

// Requests with the header order of these tests' client, Troupe's Go client, Chromium, and ws of Node.js.
var usualRequests = []string{
	request("/websocket"),
	"GET /websocket HTTP/1.1\r\nHost: 127.0.0.1:7777\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
		"Sec-WebSocket-Key: " + requestKey + "\r\nSec-WebSocket-Version: 13\r\n\r\n",
	"GET /websocket HTTP/1.1\r\nHost: [::1]:7777\r\nConnection: keep-alive, Upgrade\r\nPragma: no-cache\r\nCache-Control: no-cache\r\n" +
		"User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36\r\nUpgrade: websocket\r\nOrigin: http://127.0.0.1:8080\r\n" +
		"Sec-WebSocket-Version: 13\r\nAccept-Encoding: gzip, deflate, br, zstd\r\nAccept-Language: en-US,en;q=0.9\r\nCookie: a=b; c=d\r\n" +
		"Sec-WebSocket-Key: " + requestKey + "\r\nSec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n",
	"GET /websocket HTTP/1.1\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: " + requestKey + "\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
		"Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\nHost: localhost:7777\r\n\r\nframes",
}

func TestUsualRequests(t *testing.T) {
	for _, raw := range usualRequests {
		used, key := parseUsual([]byte(raw))
		if header, _, _ := strings.Cut(raw, "\r\n\r\n"); used != len(header)+4 || string(key) != requestKey {
			t.Errorf("%d, %q of %q", used, key, raw)
		}
		for n := range used {
			if got, _ := parseUsual([]byte(raw[:n])); got != 0 {
				t.Fatalf("%d of a part, %q", got, raw[:n])
			}
		}
		comparedWithHTTP(t, []byte(raw))
	}
}

// Requests that are unusual or ambiguous are left to net/http.
func TestUnusualRequests(t *testing.T) {
	ok := usualRequests[1]
	for name, raw := range map[string]string{
		"other path":        request("/"),
		"query":             request("/websocket?a=b"),
		"HTTP 1.0":          strings.Replace(ok, "HTTP/1.1", "HTTP/1.0", 1),
		"two hosts":         strings.Replace(ok, "Host: ", "Host: other\r\nHost: ", 1),
		"no host":           strings.Replace(ok, "Host: ", "X: ", 1),
		"strange host":      strings.Replace(ok, "Host: ", "Host: a/b", 1),
		"two keys":          strings.Replace(ok, "Upgrade: ", "Sec-WebSocket-Key: "+requestKey+"\r\nUpgrade: ", 1),
		"short key":         strings.Replace(ok, requestKey, "YWJj", 1),
		"key of 17 bytes":   strings.Replace(ok, requestKey, "AAAAAAAAAAAAAAAAAAAAAAA=", 1),
		"other version":     strings.Replace(ok, "13", "8", 1),
		"folded line":       strings.Replace(ok, "Upgrade: ", "X: a\r\n b\r\nUpgrade: ", 1),
		"bare line feed":    strings.Replace(ok, "websocket\r\n", "websocket\n", 1),
		"space before :":    strings.Replace(ok, "Upgrade:", "Upgrade :", 1),
		"no space after it": strings.Replace(ok, "Upgrade: ", "Upgrade:", 1),
		"body":              strings.Replace(ok, "Upgrade: ", "Content-Length: 3\r\nUpgrade: ", 1),
		"chunked body":      strings.Replace(ok, "Upgrade: ", "Transfer-Encoding: chunked\r\nUpgrade: ", 1),
		"not an upgrade":    strings.Replace(ok, "Connection: Upgrade", "Connection: close", 1),
		"zero byte":         strings.Replace(ok, "Upgrade: ", "X: a\x00\r\nUpgrade: ", 1),
	} {
		if used, _ := parseUsual([]byte(raw)); used != 0 {
			t.Errorf("%s: %d", name, used)
		}
	}
}

// A request of a login storm leaves no garbage.
func TestUsualRequestAllocatesNothing(t *testing.T) {
	skipRace(t)
	in := newHeaderReader().(*headerReader)
	for _, raw := range usualRequests {
		src := strings.NewReader(raw)
		if n := testing.AllocsPerRun(100, func() {
			src.Reset(raw)
			in.limit.R, in.limit.N = src, 8<<10
			in.Reset(&in.limit)
			used, key := in.usual()
			if used == 0 {
				t.Fatalf("not parsed in place: %q", raw)
			}
			in.out = rfc6455.AppendAccepted(in.out[:0], key)
		}); n != 0 {
			t.Errorf("%v allocations for %q", n, raw)
		}
	}
}

// A request that parseUsual accepts must be valid for net/http, with the same meaning.
func FuzzUsualRequest(f *testing.F) {
	for _, raw := range usualRequests {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) { comparedWithHTTP(t, raw) })
}

func comparedWithHTTP(t *testing.T, raw []byte) {
	t.Helper()
	used, key := parseUsual(raw)
	if used == 0 {
		return
	}
	behind := bytes.NewReader(raw)
	in := bufio.NewReaderSize(behind, len(raw)+16)
	r, err := http.ReadRequest(in)
	if err != nil {
		t.Fatalf("%v: %q", err, raw)
	}
	if status, text := checkUpgrade(r); status != 0 || r.URL.Path != "/websocket" || r.Header.Get("Sec-WebSocket-Key") != string(key) {
		t.Fatalf("%d %s, path %q: %q", status, text, r.URL.Path, raw)
	}
	if left := in.Buffered() + behind.Len(); left != len(raw)-used {
		t.Fatalf("%d bytes are behind the header, not %d: %q", left, len(raw)-used, raw)
	}
}
