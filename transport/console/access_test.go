package console

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.yaml.in/yaml/v3"

	"troupe/messages/counters"
	"troupe/transport/ops"
)

// drains is a fake host that only counts its drains.
type drains struct {
	ops.Drainer
	n     atomic.Int64
	grace atomic.Int64 // grace of the last drain
}

func (d *drains) StartDrain(grace time.Duration) {
	d.n.Add(1)
	d.grace.Store(int64(grace))
}
func (d *drains) Drains() ops.DrainState { return ops.DrainState{} }

// noEvents is a fake host without events.
type noEvents struct{ never chan struct{} }

func (e noEvents) Since(uint64) ([][]byte, uint64, <-chan struct{}) { return nil, 0, e.never }
func (e noEvents) Watch() func()                                    { return func() {} }

type world struct {
	*testing.T
	console    *Console
	server     http.Handler
	drains     *drains
	operations operations
	trusts     bool
	keys       bool
}

func newWorld(t *testing.T, keys bool) *world {
	w := &world{T: t, drains: new(drains), trusts: !keys}
	a := Access{
		Trusts: func(*http.Request) bool { return w.trusts },
		Signed: func(r *http.Request) (string, Role, string) {
			by := r.Header.Get("Authorization")
			if by == "forged" {
				return "", Nobody, "it is forged"
			}
			return "TRPEA2B3C4D5E6F7G2H3", map[string]Role{"signed": Operator, "signed by a reader": Reader}[by], "it may not look"
		},
		Refusal: "who may",
	}
	if keys {
		a.Verify = func(id, secret, token string) Role {
			if secret != "right" || token != "" {
				return Nobody
			}
			return map[string]Role{"KEY": Operator, "READER": Reader}[id]
		}
	}
	w.console = New(Options{
		Counters: new(counters.Set), Events: noEvents{make(chan struct{})}, Drains: w.drains, Operations: &w.operations, Access: a, Log: zerolog.Nop(), Version: "v",
		GameURLs: func() []string { return nil },
	})
	t.Cleanup(w.console.Close)
	w.server = w.console.Mux(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusTeapot) }))
	return w
}

// do sends a request. headers are pairs of names and values.
func (w *world) do(method, target, body string, headers ...string) *httptest.ResponseRecorder {
	w.Helper()
	r := httptest.NewRequest(method, "http://games.example"+target, strings.NewReader(body))
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "TLS" {
			r.TLS = new(tls.ConnectionState)
		} else if headers[i] == "From" {
			r.RemoteAddr = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	a := httptest.NewRecorder()
	w.server.ServeHTTP(a, r)
	return a
}

func (w *world) want(status int, code, method, target, body string, headers ...string) *httptest.ResponseRecorder {
	w.Helper()
	a := w.do(method, target, body, headers...)
	if a.Code != status || code != "" && !strings.Contains(a.Body.String(), `"code":"`+code+`"`) {
		w.Errorf("%s %s %v: %d %s; want %d %s", method, target, headers, a.Code, a.Body, status, code)
	}
	return a
}

const rightKey = `{"accessKeyId":"KEY","secret":"right"}`

func (w *world) logIn(headers ...string) (cookie *http.Cookie, csrf string) {
	w.Helper()
	a := w.want(200, "", "POST", "/admin/v1/login", rightKey, append(headers, "Content-Type", "application/json")...)
	_, rest, _ := strings.Cut(a.Body.String(), `"csrfToken":"`)
	csrf, _, _ = strings.Cut(rest, `"`)
	if len(a.Result().Cookies()) != 1 || csrf == "" {
		w.Fatalf("%v %s", a.Result().Cookies(), a.Body)
	}
	return a.Result().Cookies()[0], csrf
}

func TestPagesRunOnlyScriptsOfTheirOwnAddress(t *testing.T) {
	w := newWorld(t, false)
	for _, target := range []string{"/", "/console/app.js", "/admin/v1/me"} {
		h := w.want(200, "", "GET", target, "", "Accept", "text/html").Header()
		policy := h.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "script-src 'self';", "style-src 'self';", "form-action 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
			if !strings.Contains(policy, want) {
				t.Errorf("%s: the policy %q has no %s", target, policy, want)
			}
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: %v", target, h)
		}
	}
	page, err := files.ReadFile("assets/page.html")
	if err != nil || strings.Contains(string(page), "<style") || strings.Contains(string(page), "style=") || strings.Count(string(page), "<script") != strings.Count(string(page), "<script type=\"module\" src=") {
		t.Errorf("the page has a script or a style of its own: %v", err)
	}
}

// Every response, including errors, forbids caching, frames and reading by other origins.
func TestAnswersStayWithTheirPage(t *testing.T) {
	open, keyed := newWorld(t, false), newWorld(t, true)
	for _, answer := range []*httptest.ResponseRecorder{
		open.want(200, "", "GET", "/", "", "Accept", "text/html"),
		open.want(200, "", "GET", "/console/app.js", ""),
		open.want(200, "", "GET", "/admin/v1/overview", ""),
		open.want(200, "", "POST", "/admin/v1/profile?kind=heap", "", csrfHeader, machine),
		open.want(http.StatusNotFound, "UnknownPath", "GET", "/admin/v1/none", ""),
		open.want(http.StatusMethodNotAllowed, "", "POST", "/console/app.js", ""),
		open.want(http.StatusForbidden, "CrossOrigin", "GET", "/admin/v1/overview", "", "Origin", "http://evil.example"),
		keyed.want(http.StatusUnauthorized, "LoginNeeded", "GET", "/admin/v1/overview", ""),
		keyed.want(200, "", "POST", "/admin/v1/login", rightKey, "Content-Type", "application/json"),
	} {
		for name, want := range map[string]string{
			"X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-store",
		} {
			if got := answer.Header().Get(name); got != want {
				t.Errorf("%d %.60s: %s is %q, want %q", answer.Code, answer.Body, name, got, want)
			}
		}
	}
}

// If the browser came over TLS, as far as the host or a proxy can tell, the cookie is restricted to this host
// name and TLS, and only that cookie logs in. Without TLS, the cookie is restricted to the path of the API.
func TestTheCookieIsForThisHostAndPathAlone(t *testing.T) {
	for proto, secure := range map[string]bool{"https": true, "HTTPS": true, "http": false, "": false} {
		w := newWorld(t, true)
		want := http.Cookie{Name: "troupe_console", Path: "/admin/v1/"}
		other := "__Host-troupe_console"
		if secure {
			want, other = http.Cookie{Name: other, Path: "/", Secure: true}, want.Name
		}
		cookie, csrf := w.logIn("X-Forwarded-Proto", proto)
		w.want(200, "", "GET", "/admin/v1/me", "", "Cookie", cookie.String(), "X-Forwarded-Proto", proto)
		w.want(http.StatusUnauthorized, "LoginNeeded", "GET", "/admin/v1/me", "", "Cookie", other+"="+cookie.Value, "X-Forwarded-Proto", proto)
		out := w.want(200, "", "POST", "/admin/v1/logout", "", "Cookie", cookie.String(), csrfHeader, csrf, "X-Forwarded-Proto", proto).Result().Cookies()
		for _, c := range append(out, cookie) {
			if c.Name != want.Name || c.Path != want.Path || c.Secure != want.Secure || c.Domain != "" || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Expires.IsZero() {
				t.Errorf("X-Forwarded-Proto %q: %+v", proto, c)
			}
		}
		if len(out) != 1 || out[0].Value != "" {
			t.Errorf("at the end: %v", out)
		}
	}
}

func TestOnlyBrowsersGetThePage(t *testing.T) {
	w := newWorld(t, false)
	w.want(http.StatusTeapot, "", "GET", "/", "")
	w.want(http.StatusTeapot, "", "POST", "/", "x", "Accept", "text/html")
	w.want(http.StatusTeapot, "", "GET", "/other", "", "Accept", "text/html")
	w.want(http.StatusNotFound, "", "GET", "/console/", "")
	w.want(http.StatusNotFound, "", "GET", "/console/none.js", "")
}

// Without keys, only callers that the host trusts can read anything.
func TestWithoutKeysOnlyThisMachineLooks(t *testing.T) {
	w := newWorld(t, false)
	w.want(200, "", "GET", "/admin/v1/overview", "")
	w.trusts = false
	for _, target := range []string{"/", "/console/app.js", "/admin/v1/overview", "/admin/v1/me", "/admin/v1/events"} {
		w.want(http.StatusForbidden, "", "GET", target, "", "Accept", "text/html")
	}
	w.want(http.StatusNotFound, "NoLogin", "POST", "/admin/v1/login", rightKey, "Content-Type", "application/json")
}

func TestOtherWebPagesMayNotCall(t *testing.T) {
	w := newWorld(t, false)
	for _, header := range [][]string{{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
		w.want(http.StatusForbidden, "CrossOrigin", "GET", "/admin/v1/overview", "", header...)
		w.want(http.StatusForbidden, "CrossOrigin", "POST", "/admin/v1/drain", "", append(header, csrfHeader, machine)...)
	}
	w.want(200, "", "GET", "/admin/v1/overview", "", "Origin", "http://games.example", "Sec-Fetch-Site", "same-origin")
	keyed := newWorld(t, true)
	keyed.want(http.StatusForbidden, "CrossOrigin", "POST", "/admin/v1/login", rightKey, "Content-Type", "application/json", "Origin", "http://evil.example")
}

func TestAnActionNeedsTheToken(t *testing.T) {
	w := newWorld(t, false)
	w.want(http.StatusForbidden, "TokenNeeded", "POST", "/admin/v1/drain", "")
	w.want(http.StatusForbidden, "TokenNeeded", "POST", "/admin/v1/drain", "", csrfHeader, "wrong")
	if w.drains.n.Load() != 0 {
		t.Fatal("it drains")
	}
	w.want(200, "", "POST", "/admin/v1/drain", "", csrfHeader, machine)
	keyed := newWorld(t, true)
	cookie, csrf := keyed.logIn()
	keyed.want(http.StatusForbidden, "TokenNeeded", "POST", "/admin/v1/drain", "", "Cookie", cookie.String(), csrfHeader, machine)
	keyed.want(200, "", "POST", "/admin/v1/drain", "", "Cookie", cookie.String(), csrfHeader, csrf)
	// no token is needed, because no browser adds this header by itself
	keyed.want(200, "", "POST", "/admin/v1/drain", "", "Authorization", "signed")
	if w.drains.n.Load() != 1 || keyed.drains.n.Load() != 2 {
		t.Error("drains:", w.drains.n.Load(), keyed.drains.n.Load())
	}
}

func TestWithKeysALoginIsNeeded(t *testing.T) {
	w := newWorld(t, true)
	w.want(200, "", "GET", "/", "", "Accept", "text/html") // the page that asks for the login
	w.want(http.StatusUnauthorized, "LoginNeeded", "GET", "/admin/v1/overview", "")
	w.want(http.StatusUnauthorized, "LoginNeeded", "GET", "/admin/v1/overview", "", "Cookie", cookieName+"=made-up")
	if a := w.want(http.StatusForbidden, "Forbidden", "GET", "/admin/v1/overview", "", "Authorization", "signed by another"); !strings.Contains(a.Body.String(), "it may not look") {
		t.Error(a.Body)
	}
	if a := w.want(http.StatusUnauthorized, "WrongKey", "GET", "/admin/v1/overview", "", "Authorization", "forged"); !strings.Contains(a.Body.String(), "it is forged") {
		t.Error(a.Body)
	}
	w.want(200, "", "GET", "/admin/v1/overview", "", "Authorization", "signed")
	cookie, csrf := w.logIn()
	if secure, _ := w.logIn("TLS", "yes"); !secure.Secure {
		t.Errorf("over TLS: %+v", secure)
	}
	w.want(200, "", "GET", "/admin/v1/overview", "", "Cookie", cookie.String())
	w.want(200, "", "POST", "/admin/v1/logout", "", "Cookie", cookie.String(), csrfHeader, csrf)
	w.want(http.StatusUnauthorized, "LoginNeeded", "GET", "/admin/v1/overview", "", "Cookie", cookie.String())
}

func TestALoginExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, true)
		cookie, _ := w.logIn()
		time.Sleep(loginLife - time.Second)
		w.want(200, "", "GET", "/admin/v1/me", "", "Cookie", cookie.String())
		time.Sleep(time.Second)
		w.want(http.StatusUnauthorized, "LoginNeeded", "GET", "/admin/v1/me", "", "Cookie", cookie.String())
	})
}

func TestLoginsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, true)
		first, _ := w.logIn()
		for range loginsMax {
			time.Sleep(time.Second)
			w.logIn() // successful logins do not count as attempts
		}
		if n := len(w.console.logins.open); n != loginsMax {
			t.Errorf("%d logins", n)
		}
		w.want(http.StatusUnauthorized, "LoginNeeded", "GET", "/admin/v1/me", "", "Cookie", first.String())
	})
}

func TestFailedLoginsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, true)
		wrong := `{"accessKeyId":"KEY","secret":"wrong"}`
		for range attemptsBurst {
			w.want(http.StatusUnauthorized, "WrongKey", "POST", "/admin/v1/login", wrong, "Content-Type", "application/json", "From", "192.0.2.1:5")
		}
		a := w.want(http.StatusTooManyRequests, "TooManyLogins", "POST", "/admin/v1/login", rightKey, "Content-Type", "application/json", "From", "192.0.2.1:6")
		if a.Header().Get("Retry-After") == "" {
			t.Error("it does not say how long")
		}
		w.want(200, "", "POST", "/admin/v1/login", rightKey, "Content-Type", "application/json", "From", "192.0.2.2:5")
		time.Sleep(attemptEvery)
		w.want(200, "", "POST", "/admin/v1/login", rightKey, "Content-Type", "application/json", "From", "192.0.2.1:6")
	})
}

// The right secret logs in, however many other sources fail. If there are too many sources, the one with the
// least recent attempt is dropped.
func TestManySourcesKeepNobodyOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, true)
		try := func(status int, body string, source int) {
			w.want(status, "", "POST", "/admin/v1/login", body, "Content-Type", "application/json", "From", fmt.Sprintf("192.0.%d.%d:5", source>>8, source&255))
		}
		wrong := `{"accessKeyId":"KEY","secret":"wrong"}`
		for source := range sourcesMax {
			for range attemptsBurst {
				try(http.StatusUnauthorized, wrong, source)
			}
		}
		try(http.StatusTooManyRequests, wrong, 0) // now the most recent source
		try(http.StatusOK, rightKey, sourcesMax)  // source 1 is dropped
		try(http.StatusTooManyRequests, wrong, 0)
		try(http.StatusTooManyRequests, wrong, 2)
		try(http.StatusUnauthorized, wrong, 1)
		if n := len(w.console.logins.sources); n != sourcesMax {
			t.Errorf("%d sources", n)
		}
	})
}

func TestBadInputIsAnsweredWithACodeAndASentence(t *testing.T) {
	w := newWorld(t, false)
	w.want(http.StatusNotFound, "UnknownPath", "GET", "/admin/v1/none", "")
	if a := w.want(http.StatusMethodNotAllowed, "MethodNotAllowed", "PUT", "/admin/v1/drain", ""); a.Header().Get("Allow") != "DELETE, GET, POST" {
		t.Error(a.Header())
	}
	for _, target := range []string{ // transport/host tests each parameter alone
		"game-sessions?status=any&status=any", "game-sessions?next=e30x", "players?player=a&gameSession=b", "players?playerSession=a&fleet=b", "players?next=e30",
		"game-sessions?fleet=a&alias=b", "overview?%zz",
	} {
		w.want(http.StatusBadRequest, "BadRequest", "GET", "/admin/v1/"+target, "")
	}
	keyed := newWorld(t, true)
	for _, body := range []string{"", "x", "{}", `{"accessKeyId":"KEY"}`, `{"accessKeyId":"KEY","secret":"right","more":1}`, strings.Repeat(" ", loginBytesMax) + rightKey} {
		keyed.want(http.StatusBadRequest, "BadRequest", "POST", "/admin/v1/login", body, "Content-Type", "application/json")
	}
	keyed.want(http.StatusUnsupportedMediaType, "BadRequest", "POST", "/admin/v1/login", rightKey, "Content-Type", "text/plain")
}

// stream opens an event stream. The test closes it with leave.
func (w *world) stream(headers ...string) (lines *bufio.Scanner, leave func()) {
	ctx, cancel := context.WithCancel(w.Context())
	r := httptest.NewRequestWithContext(ctx, "GET", "http://games.example/admin/v1/events", nil)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	from, to := io.Pipe()
	go func() {
		w.server.ServeHTTP(piped{httptest.NewRecorder(), to}, r)
		to.Close()
	}()
	return bufio.NewScanner(from), func() { cancel(); from.Close() }
}

// piped is a response recorder that streams what is written.
type piped struct {
	*httptest.ResponseRecorder
	to *io.PipeWriter
}

func (p piped) Write(b []byte) (int, error) { return p.to.Write(b) }

// A listener that does not read is disconnected, and the others continue. Without listeners, the hub's
// goroutine does not run.
func TestListenersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, false)
		lines, leave := w.stream()
		if !lines.Scan() || lines.Text() != "event: overview" {
			t.Errorf("%q", lines.Text())
		}
		slow, ok := w.console.hub.enter()
		if !ok {
			t.Fatal("no room")
		}
		for range listenerQueue + 1 {
			w.console.hub.send([]byte("x\n"))
		}
		n := 0
		for range slow {
			n++
		}
		if n > listenerQueue {
			t.Errorf("%d frames waited", n)
		}
		leave()
		synctest.Wait()
		var all []chan []byte
		for {
			l, ok := w.console.hub.enter()
			if !ok {
				break
			}
			all = append(all, l)
		}
		if len(all) != listenersMax {
			t.Errorf("%d listeners", len(all))
		}
		for _, l := range all {
			w.console.hub.leave(l)
		}
	})
}

// The OpenAPI document has exactly the existing paths and methods. Package transport/host compares the
// responses with it.
func TestEveryPathIsDocumented(t *testing.T) {
	text, err := files.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var documented struct {
		Paths map[string]map[string]struct{ Parameters []struct{ Name string } }
	}
	if err := yaml.Unmarshal(text, &documented); err != nil {
		t.Fatal(err)
	}
	routes := newWorld(t, false).console.routes
	for path, methods := range routes {
		if len(methods) != len(documented.Paths["/"+path]) {
			t.Errorf("%s: the document has %v", path, documented.Paths["/"+path])
		}
		for method, to := range methods {
			var names []string
			for _, p := range documented.Paths["/"+path][strings.ToLower(method)].Parameters {
				names = append(names, p.Name)
			}
			if !slices.Equal(to.params, names) {
				t.Errorf("%s %s takes %v, the document has %v", method, path, to.params, names)
			}
		}
	}
	if len(documented.Paths) != len(routes) {
		t.Errorf("%d paths, %d documented", len(routes), len(documented.Paths))
	}
}

// A withdrawn key no longer gives access, not even to its existing logins.
func TestNewKeysEndLogins(t *testing.T) {
	w := newWorld(t, true)
	cookie, _ := w.logIn()
	stream, ok := w.console.hub.enter()
	if !ok {
		t.Fatal("no room")
	}
	w.console.EndLogins()
	w.want(http.StatusUnauthorized, "LoginNeeded", "GET", "/admin/v1/me", "", "Cookie", cookie.String())
	for range stream {
	}
}
