package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/messages"
	"troupe/transport/client"
)

// An operator throws a player out and keeps it out, over a restart; who asks learns why and by whom.
func TestAnOperatorKicksAndBans(t *testing.T) {
	c := storeConfig(t)
	c.Store.Memory = false
	c.Events.Sinks = []EventSink{{Name: "audit", Type: "file", Path: t.TempDir() + "/audit", Kinds: []string{"operator"}}}
	h, call := consoleOf(t, c)
	join := func(h *Host) (*client.Client, error) {
		t.Helper()
		a := joined(t, 200, must(call(h, "POST", devJoinPath, `{"playerId": "ann"}`)))
		return client.Dial(t.Context(), client.Options{Addr: strings.TrimPrefix(a.URL, "ws://"), PlayerSessionID: a.PlayerSessionID})
	}
	gone := func(ann *client.Client) {
		t.Helper()
		select {
		case <-ann.Done():
		case <-time.After(30 * time.Second):
			t.Fatal("she plays on")
		}
	}
	ann, err := join(h)
	if err != nil {
		t.Fatal(err)
	}
	if status, body := call(h, "POST", "/admin/v1/players/kick?player=ann&reason=rude", ""); status != 200 || !strings.Contains(body, `"kicked":1`) {
		t.Fatal(status, body)
	}
	gone(ann)
	until(t, "the closed connection", func() bool {
		_, body := call(h, "GET", "/admin/v1/connections/closed?player=ann&by=host", "")
		return strings.Contains(body, `"reason":"kicked"`) && strings.Contains(body, `"detail":"by an operator (this machine): rude"`) && strings.Contains(body, `"playerId":"ann"`)
	})
	games, err := h.System().GameSessions(t.Context(), messages.GameSessionQuery{FleetID: "fleet-dev"})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the time line with all that she did", func() bool { // the game session may hear of the end after the client
		_, body := call(h, "GET", "/admin/v1/game-session?id="+url.QueryEscape(string(games[0].ID)), "")
		return !slices.ContainsFunc([]string{"reserved", "joined", "left"}, func(kind string) bool {
			return !strings.Contains(body, fmt.Sprintf(`"kind":%q,"playerId":"ann"`, kind))
		})
	})
	ann, err = join(h) // a kick alone does not keep her out
	if err != nil {
		t.Fatal(err)
	}
	if status, body := call(h, "POST", "/admin/v1/bans?player=ann&seconds=3600&reason=rude", ""); status != 200 || !strings.Contains(body, `"kicked":1`) {
		t.Fatal(status, body)
	}
	gone(ann)
	if ann, err := join(h); err == nil {
		ann.Close()
		t.Error("she is in again")
	}
	h.Close()
	h, call = consoleOf(t, c)
	if ann, err := join(h); err == nil {
		ann.Close()
		t.Error("she is in again after a restart")
	}
	if _, body := call(h, "GET", "/admin/v1/bans", ""); !strings.Contains(body, `"playerId":"ann"`) || !strings.Contains(body, `"by":"this machine"`) {
		t.Error(body)
	}
	if status, body := call(h, "DELETE", "/admin/v1/bans?player=ann", ""); status != 200 {
		t.Fatal(status, body)
	}
	if ann, err = join(h); err != nil {
		t.Fatal(err)
	}
	ann.Close()
	h.Close()
	h, call = consoleOf(t, c)
	if _, body := call(h, "GET", "/admin/v1/bans", ""); body != "{\"bans\":[]}\n" {
		t.Error("after the lift and a restart:", body)
	}
}

// Each action is an event, and the level of the log changes until the next reload.
func TestActionsAreEventsAndTheLogLevelChanges(t *testing.T) {
	c := storeConfig(t)
	levels := make(chan zerolog.Level, 10)
	h, call := consoleWith(t, Options{Config: c, Log: zerolog.Nop(), Dev: true, SetLogLevel: func(l zerolog.Level) { levels <- l }})
	if status, body := call(h, "POST", "/admin/v1/log-level?level=debug", ""); status != 200 || body != "{\"level\":\"debug\"}\n" || <-levels != zerolog.DebugLevel {
		t.Fatal(status, body)
	}
	until(t, "the event", func() bool {
		recent, _, _ := h.events.Since(0)
		return len(recent) == 1 && strings.Contains(string(recent[0]), `"detail-type":"Troupe Operator Event"`) &&
			strings.Contains(string(recent[0]), `"detail":{"type":"OperatorAction","action":"set log level","target":"debug","by":"this machine","result":"done"}`)
	})
	const mine = `{"key":"log.level","value":"debug","origin":"operator this machine, until the next reload"`
	if _, body := call(h, "GET", "/admin/v1/settings", ""); !strings.Contains(body, mine) {
		t.Error(body)
	}
	if _, _, err := h.Reload(c); err != nil || <-levels != zerolog.InfoLevel {
		t.Error(err)
	}
	if _, body := call(h, "GET", "/admin/v1/log-level", ""); body != "{\"level\":\"info\"}\n" {
		t.Error(body)
	}
	if _, body := call(h, "GET", "/admin/v1/settings", ""); strings.Contains(body, "operator this machine") {
		t.Error("after a reload the level is said to be an operator's")
	}
}

// A drain and its end are told, whichever way an operator takes.
func TestDrainsAreTold(t *testing.T) {
	var log bytes.Buffer
	h, call := consoleWith(t, Options{Config: storeConfig(t), Log: zerolog.New(zerolog.SyncWriter(&log)), Dev: true})
	joined(t, 200, must(call(h, "POST", devJoinPath, `{"playerId": "ann"}`))) // the host must not exit
	var want []string
	for _, path := range []string{"/admin/v1/drain", "/debug/drain"} {
		for _, step := range []struct {
			method, query, told string
			status              int
		}{
			{"POST", "?grace=1h", `"action":"drain","target":"1h","by":"this machine","result":"done"`, 200},
			{"DELETE", "", `"action":"cancel drain","by":"this machine","result":"done"`, 200},
			{"DELETE", "", `"action":"cancel drain","by":"this machine","result":"Conflict"`, http.StatusConflict},
			{"POST", "?grace=169h", `"action":"drain","target":"169h","by":"this machine","result":"BadRequest"`, http.StatusBadRequest},
		} {
			want = append(want, step.told)
			if status, body := call(h, step.method, path+step.query, ""); status != step.status {
				t.Fatal(step, path, status, body)
			}
		}
	}
	until(t, "the events", func() bool {
		recent, _, _ := h.events.Since(0)
		var told []string
		for _, e := range recent {
			if strings.Contains(string(e), `"type":"OperatorAction"`) {
				told = append(told, string(e))
			}
		}
		return len(told) == len(want) && !slices.ContainsFunc(want, func(w string) bool {
			return strings.Count(strings.Join(told, "\n"), w) != 2
		})
	})
	h.Close()
	if n := strings.Count(log.String(), `"message":"an operator acts"`); n != len(want) {
		t.Errorf("%d lines in\n%s", n, log.String())
	}
}

// The configuration is shown without secrets.
func TestTheSettingsShowNoSecret(t *testing.T) {
	c := storeConfig(t)
	c.API.TrustLoopback = true
	c.API.Keys = []APIKey{{ID: "KEYONE", Secret: "the-secret-of-the-key", SessionToken: "the-token-of-the-key"}}
	c.Events.SSE.Secret = "the-secret-of-the-stream"
	c.Events.Sinks = []EventSink{{Name: "hook", Type: "webhook-raw", URL: "http://me:the-password@127.0.0.1:1/x?key=the-key-in-the-url", Secret: "the-secret-of-the-hook", All: true}}
	h, call := consoleWith(t, Options{Config: c, Log: zerolog.Nop(), Origin: func(key string) string { return "origin of " + key }})
	_, body := call(h, "GET", "/admin/v1/settings", "")
	if strings.Contains(body, "the-") {
		t.Error(body)
	}
	var all struct {
		Settings []struct{ Key, Value, Origin string }
	}
	if err := json.Unmarshal([]byte(body), &all); err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	for _, s := range all.Settings {
		shown[s.Key] = s.Value
		if s.Origin != "origin of "+s.Key {
			t.Errorf("%+v", s)
		}
	}
	if shown["reconnect.window"] != "30s" || shown["events.sse.secret"] != hiddenValue || !strings.Contains(shown["api.keys"], "KEYONE") || shown["api.trustLoopback"] != "true" {
		t.Error(body)
	}
}

func must(_ int, body string) string { return body }

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal(what, "does not come")
		}
	}
}

// consoleOf starts a host for development. Calls have the token of the console.
func consoleOf(t *testing.T, c Config) (*Host, func(h *Host, method, path, body string) (int, string)) {
	t.Helper()
	return consoleWith(t, Options{Config: c, Log: zerolog.Nop(), Dev: true})
}

func consoleWith(t *testing.T, o Options) (*Host, func(h *Host, method, path, body string) (int, string)) {
	t.Helper()
	h, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	transport := new(http.Transport)
	t.Cleanup(transport.CloseIdleConnections)
	once := func(h *Host, method, path, body, token string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, h.Addrs().APIURL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-CSRF-Token", token)
		a, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		text, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, string(text)
	}
	return h, func(h *Host, method, path, body string) (int, string) {
		t.Helper()
		var me struct{ CSRFToken string }
		if _, text := once(h, "GET", "/admin/v1/me", "", ""); json.Unmarshal([]byte(text), &me) != nil {
			t.Fatal(text)
		}
		return once(h, method, path, body, me.CSRFToken)
	}
}
