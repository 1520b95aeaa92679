package host

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
)

// The console of a host with keys: only a key that may call every operation opens it.
func TestTheConsoleIsForOperators(t *testing.T) {
	t.Parallel()
	c := storeConfig(t)
	withKeys(&c)
	c.API.Keys = append(c.API.Keys, APIKey{ID: "KEYTOKEN", Secret: guardSecret, SessionToken: "a-token"})
	h, err := Start(Options{Config: c, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
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
		client := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
		a, err := client.Post(h.Addrs().APIURL+"/admin/v1/login", "application/json", strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		a.Body.Close()
		if a.StatusCode != test.want {
			t.Errorf("%s: %d, want %d", test.body, a.StatusCode, test.want)
		}
	}
}

// The console has the rules of the pages below /debug/.
func TestTheConsoleIsGuardedLikeDebug(t *testing.T) {
	t.Parallel()
	const path = "/admin/v1/overview"
	open, _ := guardedHost(t, func(*Config) {})
	keyed, proxied := guardedHost(t, withKeys)
	for name, got := range map[string]int{
		"a name that was rebound": open(path, func(r *http.Request) { r.Host = "rebound.example" }),
		"through a proxy":         open(path, func(r *http.Request) { r.Header.Set("Via", "1.1 proxy") }),
		"no key":                  keyed(path, nil), "no key, through a proxy": proxied(path, nil),
		"a key for less": keyed(path, signedAs(t, "KEYSOME")),
	} {
		if !refusedPage(got) {
			t.Errorf("%s: %d", name, got)
		}
	}
	for name, got := range map[string]int{"this machine": open(path, nil), "signed": keyed(path, signedAs(t, guardKey))} {
		if got != http.StatusOK {
			t.Errorf("%s: %d", name, got)
		}
	}
}
