package host

import (
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// pages are the pages that only operators may see.
var pages = []string{"/events", "/debug/gamesession-log", "/debug/pprof/heap", "/debug/pprof/", "/debug/runtime", "/admin/v1/overview"}

const (
	guardKey    = "KEYALL"
	guardSecret = "canary-secret-of-the-key"
)

// guardedHost starts a host, and a proxy in front of it that adds no header. It returns two functions that
// request a page directly or through the proxy, and return the status.
func guardedHost(t *testing.T, change func(c *Config)) (direct, proxied func(path string, change func(r *http.Request)) int) {
	t.Helper()
	c := config(t)
	change(&c)
	h := begin(t, Options{Config: c})
	target := &url.URL{Scheme: "http", Host: h.Addrs().API}
	proxy := &http.Server{Handler: &httputil.ReverseProxy{
		Transport: h.web,
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
	}}
	ln, err := h.net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go proxy.Serve(ln)
	t.Cleanup(func() { proxy.Close() })
	get := func(base string) func(string, func(*http.Request)) int {
		return func(path string, change func(*http.Request)) int {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if change != nil {
				change(r)
			}
			a := h.send(r)
			defer a.Body.Close()
			_, _ = io.ReadFull(a.Body, make([]byte, 1))
			return a.StatusCode
		}
	}
	return get("http://" + h.Addrs().API), get("http://" + ln.Addr().String())
}

func withKeys(c *Config) {
	c.API.Keys = []APIKey{{ID: guardKey, Secret: guardSecret}, {ID: "KEYSOME", Secret: guardSecret, Allow: []string{"gamelift:Describe*"}}}
}

func signedAs(t *testing.T, key string) func(*http.Request) {
	return func(r *http.Request) {
		const noBody = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
		err := v4.NewSigner().SignHTTP(t.Context(), aws.Credentials{AccessKeyID: key, SecretAccessKey: guardSecret}, r, noBody, "gamelift", "us-east-1", time.Now())
		if err != nil {
			t.Error(err)
		}
	}
}

func refusedPage(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// TestWithKeysNobodyIsTrustedForItsAddress: a proxy on this machine that adds no header must not make its
// clients appear local.
func TestWithKeysNobodyIsTrustedForItsAddress(t *testing.T) {
	synctest.Test(t, withKeysNobodyIsTrustedForItsAddress)
}

func withKeysNobodyIsTrustedForItsAddress(t *testing.T) {
	direct, proxied := guardedHost(t, func(c *Config) { withKeys(c); c.Events.SSE.Secret = "token" })
	for _, path := range pages {
		for name, get := range map[string]func(string, func(*http.Request)) int{"direct": direct, "through a proxy": proxied} {
			if got := get(path, nil); !refusedPage(got) {
				t.Errorf("%s %s without a key: %d", path, name, got)
			}
			if got := get(path, signedAs(t, "KEYSOME")); !refusedPage(got) {
				t.Errorf("%s %s with a key for less: %d", path, name, got)
			}
			if got := get(path, signedAs(t, guardKey)); got != http.StatusOK {
				t.Errorf("%s %s with a key: %d", path, name, got)
			}
		}
	}
	if got := proxied("/events", func(r *http.Request) { r.Header.Set("Authorization", "Bearer token") }); got != http.StatusOK {
		t.Errorf("events with the token: %d", got)
	}
}

// TestATokenIsAskedOfEverybody: if /events has a token, requests from this machine need it as well.
func TestATokenIsAskedOfEverybody(t *testing.T) { synctest.Test(t, aTokenIsAskedOfEverybody) }

func aTokenIsAskedOfEverybody(t *testing.T) {
	direct, _ := guardedHost(t, func(c *Config) { c.Events.SSE.Secret = "token" })
	if got := direct("/events", nil); got != http.StatusUnauthorized {
		t.Errorf("without it: %d", got)
	}
	if got := direct("/debug/gamesession-log", nil); got != http.StatusOK {
		t.Errorf("a page that it is not for: %d", got)
	}
}

// TestLoopbackIsTrustedAsLoopbackOnly: without keys, or with api.trustLoopback, a request is trusted only if
// it comes from loopback, names a loopback host, and was not forwarded.
func TestLoopbackIsTrustedAsLoopbackOnly(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"no keys":       func(*Config) {},
		"trustLoopback": func(c *Config) { withKeys(c); c.API.TrustLoopback = true; c.Events.SSE.Secret = "token" },
	} {
		synctest.Test(t, func(t *testing.T) {
			direct, _ := guardedHost(t, change)
			for _, path := range pages {
				for _, host := range []string{"127.0.0.1", "127.0.0.1:8080", "localhost", "LocalHost:1", "[::1]:8080", "[::1]"} {
					if got := direct(path, func(r *http.Request) { r.Host = host }); got != http.StatusOK {
						t.Errorf("%s: %s for %s: %d", name, path, host, got)
					}
				}
				for _, host := range []string{ // names that the owner of a web page may point at this machine
					"rebound.example", "rebound.example:8080", "localhost.rebound.example", "127.0.0.1.rebound.example:8080", "192.0.2.1", "localhost:x:y",
				} {
					if got := direct(path, func(r *http.Request) { r.Host = host }); !refusedPage(got) && got != http.StatusBadRequest {
						t.Errorf("%s: %s for %s: %d", name, path, host, got)
					}
				}
				for _, header := range []string{"Via", "Forwarded", "X-Real-IP", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "x-forwarded-anything"} {
					for _, value := range []string{"1.1 proxy", ""} {
						if got := direct(path, func(r *http.Request) { r.Header.Set(header, value) }); !refusedPage(got) {
							t.Errorf("%s: %s with %s %q: %d", name, path, header, value, got)
						}
					}
				}
			}
		})
	}
}

// TestRequestWithoutAHost: an HTTP/1.0 request may have no Host header.
func TestRequestWithoutAHost(t *testing.T) { synctest.Test(t, requestWithoutAHost) }

func requestWithoutAHost(t *testing.T) {
	h := begin(t, Options{Config: config(t)})
	c, err := h.net.DialContext(t.Context(), "tcp", h.Addrs().API)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = io.WriteString(c, "GET /debug/gamesession-log HTTP/1.0\r\n\r\n")
	if answer, _ := io.ReadAll(c); !strings.HasPrefix(string(answer), "HTTP/1.0 403") {
		t.Errorf("got %q", answer)
	}
}

// On a host with keys, only a key that allows every operation opens the console.
func TestTheConsoleIsForOperators(t *testing.T) { synctest.Test(t, theConsoleIsForOperators) }

func theConsoleIsForOperators(t *testing.T) {
	c := config(t)
	withKeys(&c)
	c.API.Keys = append(c.API.Keys, APIKey{ID: "KEYTOKEN", Secret: guardSecret, SessionToken: "a-token"})
	h := begin(t, Options{Config: c})
	for _, test := range []struct {
		body string
		want int
	}{
		{`{"accessKeyId":"` + guardKey + `","secret":"` + guardSecret + `"}`, http.StatusOK},
		{`{"accessKeyId":"` + guardKey + `","secret":"` + guardSecret + `x"}`, http.StatusUnauthorized},
		{`{"accessKeyId":"KEYSOME","secret":"` + guardSecret + `"}`, http.StatusUnauthorized},
		{`{"accessKeyId":"KEYNONE","secret":"` + guardSecret + `"}`, http.StatusUnauthorized},
		{`{"accessKeyId":"KEYTOKEN","secret":"` + guardSecret + `","sessionToken":"a-token"}`, http.StatusOK},
	} {
		if status, _, _ := h.call("POST", "/admin/v1/login", test.body, "Content-Type", "application/json"); status != test.want {
			t.Errorf("%s: %d, want %d", test.body, status, test.want)
		}
	}
}

// Without keys, the service API accepts the same callers as the operator's pages.
func TestWithoutKeysTheServiceAPIIsForThisMachine(t *testing.T) {
	calls := func(r *http.Request) {
		r.Method, r.Body, r.ContentLength = http.MethodPost, io.NopCloser(strings.NewReader("{}")), 2
		r.Header.Set("X-Amz-Target", "GameLift.ListFleets")
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
	}
	for name, change := range map[string]func(c *Config){
		"no keys": func(*Config) {},
		"none":    func(c *Config) { c.API.Auth = authNone },
		"proxies": func(c *Config) { c.API.Proxies = []string{"127.0.0.0/8"} },
	} {
		synctest.Test(t, func(t *testing.T) {
			direct, proxied := guardedHost(t, change)
			try := func(what string, get func(string, func(*http.Request)) int, local bool, change func(r *http.Request)) {
				t.Helper()
				for path, want := range map[string]int{"/": http.StatusBadRequest, "/admin/v1/overview": http.StatusForbidden} {
					if local {
						want = http.StatusOK
					}
					if got := get(path, func(r *http.Request) {
						if path == "/" {
							calls(r)
						}
						change(r)
					}); got != want {
						t.Errorf("%s: %s of %s: %d, want %d", name, what, path, got, want)
					}
				}
			}
			listed := name == "proxies"
			try("a call", direct, !listed, func(*http.Request) {})
			try("localhost", direct, !listed, func(r *http.Request) { r.Host = "localhost:8080" })
			try("a proxy that says nothing", proxied, !listed, func(*http.Request) {})
			try("a rebound name", direct, false, func(r *http.Request) { r.Host = "rebound.example" })
			for _, header := range []string{"Via", "Forwarded", "X-Real-IP", "X-Forwarded-For"} {
				try(header, direct, false, func(r *http.Request) { r.Header.Set(header, "192.0.2.1") })
			}
		})
	}
}
