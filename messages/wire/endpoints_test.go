package wire

import (
	"errors"
	"strings"
	"testing"
)

func TestEndpoints(t *testing.T) {
	for text, want := range map[string]Endpoints{
		"ws=127.0.0.1:1900 wss=a.example:1901 kcp=[::1]:33402": {"127.0.0.1:1900", "a.example:1901", "[::1]:33402"},
		"ws=127.0.0.1:1900": {WS: "127.0.0.1:1900"},
		" quic=x  kcp=a:1 ": {KCP: "a:1"}, // a newer host may have more
		"ws=a:1 ws=b:2":     {WS: "b:2"},
		"":                  {},
		"quic=a:1":          {},
		"ws":                {},
		"ws=a":              {},
		"ws=a:":             {},
		"ws=:1":             {},
		"ws=a:0":            {},
		"ws=a:65536":        {},
		"ws=a:1 wss=b":      {},
		"ws=a:1" + strings.Repeat(" ", EndpointsMax): {},
	} {
		got, err := ParseEndpoints(text)
		if got != want || (err == nil) != (want != Endpoints{}) || err != nil && !errors.Is(err, ErrMalformed) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzEndpoints(f *testing.F) {
	f.Add("ws=127.0.0.1:1900 wss=a.example:1901 kcp=[::1]:33402")
	f.Add("ws= wss=a:70000 kcp")
	f.Fuzz(func(t *testing.T, text string) {
		e, err := ParseEndpoints(text)
		if err != nil {
			if e != (Endpoints{}) {
				t.Errorf("%+v beside %v", e, err)
			}
			return
		}
		if again, err := ParseEndpoints(e.String()); again != e || err != nil {
			t.Errorf("%q: round trip gives %+v, %v; want %+v", text, again, err, e)
		}
	})
}

// The answer of a host is as untrusted as its addresses.
func FuzzLoginResult(f *testing.F) {
	f.Add((&LoginResult{Caps: 1, Endpoints: "ws=a:1", Alternates: []string{"ws=b:1", "ws=c:1"}, Over: OverHostLost}).append(nil))
	f.Add((&LoginResult{Success: true, PeerID: 1, CACert: []byte("x"), Caps: 1, Base: 3}).append(nil))
	f.Fuzz(func(t *testing.T, inner []byte) {
		r, err := ParseLoginResult(inner)
		if (err == nil) != (checkInner(CommandLoginResult, inner) == nil) {
			t.Fatalf("%x: the parser says %v, the check disagrees", inner, err)
		}
		if len(r.Alternates) > AlternatesMax {
			t.Fatalf("%d alternates", len(r.Alternates))
		}
	})
}

func TestOversHaveNames(t *testing.T) {
	if Over(0).String() != "" || OverHostLost.String() != "the host of the game session was lost" || Over(77).String() != "the game session is over" {
		t.Errorf("%q, %q, %q", Over(0), OverHostLost, Over(77))
	}
}
