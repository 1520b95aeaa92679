package host

import (
	"net/http"
	"testing"
	"testing/synctest"
)

// The console of a host with keys: only a key that may call every operation opens it.
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

// The console has the rules of the pages below /debug/.
func TestTheConsoleIsGuardedLikeDebug(t *testing.T) { synctest.Test(t, theConsoleIsGuardedLikeDebug) }

func theConsoleIsGuardedLikeDebug(t *testing.T) {
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
