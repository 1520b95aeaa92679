package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"troupe/messages"
)

// Every host serves the browser client, to pages of any origin.
func TestClientForBrowsers(t *testing.T) { synctest.Test(t, clientForBrowsers) }

func clientForBrowsers(t *testing.T) {
	c := config(t)
	withKeys(&c)
	call := begin(t, Options{Config: c}).call
	status, header, body := call("GET", "/client.js", "", "Origin", "https://game.example")
	if status != 200 || !strings.Contains(body, "export {") || header.Get("Content-Type") != "text/javascript; charset=utf-8" || header.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("%d %v %.80s", status, header, body)
	}
	if status, _, body := call("GET", "/client.js", "", "If-None-Match", header.Get("ETag")); status != http.StatusNotModified || body != "" {
		t.Errorf("again: %d, %d bytes", status, len(body))
	}
	for path, want := range map[string]int{"/client.js/x": 405, "/dev/join": 405} {
		if status, _, _ := call("GET", path, ""); status != want {
			t.Errorf("GET %s: %d", path, status)
		}
	}
	if status, _, body := call("POST", devJoinPath, "{}"); status < 400 || strings.Contains(body, "psess-") {
		t.Errorf("a host that is not for development hands out seats: %d %s", status, body)
	}
}

// A page in development gets a player session: in a game session with a free slot, or else in a new one.
func TestDevJoin(t *testing.T) { synctest.Test(t, devJoins) }

func devJoins(t *testing.T) {
	h := begin(t, Options{Config: config(t), Dev: true})
	_, header, body := h.call("POST", devJoinPath, `{"playerId": "ann", "maxPlayers": 2}`, "Origin", "http://localhost:5173", "Content-Type", "application/json")
	var ann devJoinAnswer
	if err := json.Unmarshal([]byte(body), &ann); err != nil {
		t.Fatal(err)
	}
	if ann.PlayerID != "ann" || ann.URL != "ws://"+h.Addrs().WS || header.Get("Access-Control-Allow-Origin") != "http://localhost:5173" || header.Get("Vary") != "Origin" {
		t.Errorf("%+v, %v", ann, header)
	}
	if _, err := h.dial(ann.PlayerSessionID, false); err != nil {
		t.Fatal(err)
	}
	if bob := h.seat(""); bob.GameSessionID != ann.GameSessionID || bob.PlayerID == "" || bob.PlayerSessionID == ann.PlayerSessionID {
		t.Errorf("the second seat: %+v", bob)
	}
	if third := h.seat("{}"); third.GameSessionID == ann.GameSessionID {
		t.Errorf("the third seat of two: %+v", third)
	}
}

// A page loaded over https may not open ws://, so its response has the wss:// address. A request can also ask
// for that address.
func TestDevJoinAnswersWSSToSecurePages(t *testing.T) {
	synctest.Test(t, devJoinAnswersWSSToSecurePages)
}

func devJoinAnswersWSSToSecurePages(t *testing.T) {
	c := config(t)
	withTLS(t, &c)
	h := begin(t, Options{Config: c, Dev: true})
	for _, test := range []struct {
		origin, body string
		secure       bool
	}{
		{"http://localhost:5173", "", false}, {"", "{}", false},
		{"https://localhost:5173", "", true}, {"http://localhost:5173", `{"secure": true}`, true}, {"", `{"secure": true}`, true},
	} {
		var header []string
		if test.origin != "" {
			header = []string{"Origin", test.origin}
		}
		if a := h.seat(test.body, header...); !strings.HasPrefix(a.URL, "ws://") || strings.HasPrefix(a.SecureURL, "wss://localhost:") != test.secure || !test.secure && a.SecureURL != "" {
			t.Errorf("%+v: %+v", test, a)
		}
	}
	h = begin(t, Options{Config: config(t), Dev: true})
	if status, _, body := h.call("POST", devJoinPath, `{"secure": true}`); status != http.StatusBadRequest || !strings.Contains(body, "wss.addr") {
		t.Errorf("without a listener: %d %s", status, body)
	}
	if a := h.seat("", "Origin", "https://localhost:5173"); a.SecureURL != "" {
		t.Errorf("without a listener: %+v", a)
	}
}

// Concurrent joins share game sessions.
func TestDevJoinsAtOnce(t *testing.T) { synctest.Test(t, devJoinsAtOnce) }

func devJoinsAtOnce(t *testing.T) {
	h := begin(t, Options{Config: config(t), Dev: true})
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if status, _, body := h.call("POST", devJoinPath, `{"maxPlayers": 8}`); status != 200 {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	all.Wait()
	found, err := messages.Do(t.Context(), h.System(), messages.FindGameSessions{FleetID: "fleet-dev"})
	games := found.GameSessions
	if err != nil || len(games) != 2 {
		t.Errorf("%d game sessions for 16 players, %v", len(games), err)
	}
}

// Only pages and programs of this machine get a player session. Pages of other sites get none.
func TestDevJoinIsForThisMachine(t *testing.T) { synctest.Test(t, devJoinIsForThisMachine) }

func devJoinIsForThisMachine(t *testing.T) {
	h := begin(t, Options{Config: config(t), Dev: true})
	for name, header := range map[string][]string{
		"another site":     {"Origin", "https://evil.example"},
		"a file":           {"Origin", "null"},
		"a name that ends": {"Origin", "http://localhost.evil.example"},
		"a rebound name":   {"Host", "evil.example", "Origin", "http://localhost"},
		"a proxy":          {"X-Forwarded-For", "192.0.2.1"},
	} {
		for _, method := range []string{"POST", "OPTIONS"} {
			if status, answer, body := h.call(method, devJoinPath, "{}", header...); status != http.StatusForbidden || answer.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%s, %s: %d %s", name, method, status, body)
			}
		}
	}
	if status, header, _ := h.call("OPTIONS", devJoinPath, "", "Origin", "http://127.0.0.1:8000", "Access-Control-Request-Method", "POST"); status != 204 || header.Get("Access-Control-Allow-Headers") != "Content-Type" {
		t.Errorf("a page of this machine: %d %v", status, header)
	}
	found, err := messages.Do(t.Context(), h.System(), messages.FindGameSessions{FleetID: "fleet-dev"})
	games := found.GameSessions
	if err != nil || len(games) != 0 {
		t.Errorf("%d game sessions, %v", len(games), err)
	}
}

// On a host with access keys, /dev/join refuses requests, because it would bypass the keys.
func TestDevJoinObeysKeys(t *testing.T) { synctest.Test(t, devJoinObeysKeys) }

func devJoinObeysKeys(t *testing.T) {
	c := config(t)
	withKeys(&c)
	if status, _, body := begin(t, Options{Config: c, Dev: true}).call("POST", devJoinPath, "{}"); status != http.StatusForbidden {
		t.Errorf("%d %s", status, body)
	}
}

func TestDevJoinRefuses(t *testing.T) { synctest.Test(t, devJoinRefuses) }

func devJoinRefuses(t *testing.T) {
	h := begin(t, Options{Config: config(t), Dev: true})
	bad := []string{"[]", "{", `{"maxPlayers": 0}`, `{"maxPlayers": 201}`, `{"player": "x"}`, `{} {}`, fmt.Sprintf(`{"playerId": %q}`, strings.Repeat("x", 1025)), strings.Repeat(" ", devJoinBodyMax) + "{}"}
	for _, body := range bad {
		if status, _, text := h.call("POST", devJoinPath, body); status != 400 {
			t.Errorf("%.40s: %d %s", body, status, text)
		}
	}
}

// FuzzDevJoin: no body causes a panic, and accepted values are within their limits.
func FuzzDevJoin(f *testing.F) {
	for _, seed := range []string{"", "{}", `{"playerId":"ann","playerData":"d","maxPlayers":2}`, `{"maxPlayers":1e9}`, `{"playerId":null}`, "\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := readDevJoin(bytes.NewReader(body))
		if err == nil && (req.PlayerID == "" || len(req.PlayerID) > 1024 || len(req.PlayerData) > 2048 || req.MaxPlayers < 1 || req.MaxPlayers > 200) {
			t.Errorf("%+v", req)
		}
	})
}
