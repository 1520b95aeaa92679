package host

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/store"
)

// streams asks for the event stream of a host with a token.
func (h *testHost) streams(token string) int {
	h.t.Helper()
	a := h.ask("GET", "/events", "", "Authorization", "Bearer "+token)
	a.Body.Close()
	return a.StatusCode
}

func TestReload(t *testing.T) { synctest.Test(t, reloadChangesWhatItCan) }

func reloadChangesWhatItCan(t *testing.T) {
	const old, replaced = "a-token-of-this-test", "another-token-of-this-test"
	c := config(t)
	file := filepath.Join(t.TempDir(), "token")
	write := func(token string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(old)
	c.Events.SSE.SecretFile = file
	c.API.Keys = []APIKey{{ID: guardKey, Secret: guardSecret}}
	level := zerolog.InfoLevel
	h := begin(t, Options{Config: c, SetLogLevel: func(l zerolog.Level) { level = l }})
	if h.streams(old) != http.StatusOK || h.streams(replaced) != http.StatusUnauthorized {
		t.Fatal("the token is not the one of the file")
	}

	// The files are read again, without a change of the configuration.
	write(replaced)
	applied, restart, err := h.Reload(c)
	if err != nil || applied != nil || restart != nil {
		t.Fatalf("%v, %v, %v", applied, restart, err)
	}
	if h.streams(old) != http.StatusUnauthorized || h.streams(replaced) != http.StatusOK {
		t.Error("the old token is still in force")
	}

	// What can be taken over is, and the rest is named, until the restart.
	next := c
	next.API.Keys = []APIKey{{ID: "KEYOTHER", Secret: "another-secret-of-the-test"}}
	next.Log.Level, next.Reconnect.Window, next.Workers = "debug", 11*time.Second, 3
	for range 2 {
		applied, restart, err = h.Reload(next)
		if err != nil || !slices.Equal(restart, []string{"reconnect.window", "workers"}) {
			t.Errorf("%v, %v", restart, err)
		}
		if applied != nil && !slices.Equal(applied, []string{"api.keys", "log.level"}) {
			t.Error(applied)
		}
	}
	if applied != nil || level != zerolog.DebugLevel {
		t.Errorf("%v, the level is %v", applied, level)
	}
	if known := h.reloads.knows("KEYOTHER"); !known || h.reloads.knows(guardKey) {
		t.Error("the old key is still in force")
	}

	// A mistake changes nothing.
	bad := next
	bad.Log.Level, bad.API.Keys = "error", []APIKey{{ID: guardKey, SecretFile: filepath.Join(t.TempDir(), "none")}}
	if _, _, err := h.Reload(bad); err == nil || !strings.Contains(err.Error(), "api.keys[0].secretFile") {
		t.Errorf("%v", err)
	}
	if level != zerolog.DebugLevel || !h.reloads.knows("KEYOTHER") {
		t.Errorf("something has changed: %v", level)
	}

	// A host with keys does not begin to accept everybody.
	open := next
	open.API.Keys = nil
	if _, restart, err := h.Reload(open); err != nil || !slices.Contains(restart, "api.keys") || !h.reloads.knows("KEYOTHER") {
		t.Errorf("%v, %v", restart, err)
	}
}

// knows reports whether an access key is in force: another is refused as unrecognized.
func (s *reloads) knows(key string) bool {
	r, _ := http.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(""))
	r.Header.Set("X-Amz-Date", time.Now().UTC().Format("20060102T150405Z"))
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+key+"/"+time.Now().UTC().Format("20060102")+
		"/us-east-1/gamelift/aws4_request, SignedHeaders=host;x-amz-date, Signature="+strings.Repeat("0", 64))
	_, err := s.authenticate(r)
	return err == nil || !strings.Contains(err.Error(), "security token")
}

func TestReloadOfSinks(t *testing.T) { synctest.Test(t, reloadOfSinks) }

func reloadOfSinks(t *testing.T) {
	c := config(t)
	h := begin(t, Options{Config: c})
	file := filepath.Join(t.TempDir(), "events.jsonl")
	next := c
	next.Events.Sinks = []EventSink{{Name: "audit", Type: "file", Path: file, All: true, Kinds: []string{"placement"}}}
	if applied, restart, err := h.Reload(next); err != nil || !slices.Equal(applied, []string{"events.sinks"}) || restart != nil {
		t.Fatalf("%v, %v, %v", applied, restart, err)
	}
	e := placementEvent(1)
	stored := make(chan error, 1)
	h.store.Commit([]store.Change{store.Put(store.Event, e.ID, e)}, func(err error) { stored <- err }) // as its maker does, with what it reports
	if err := <-stored; err != nil {
		t.Fatal(err)
	}
	h.events.Post(e)
	synctest.Wait()
	if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "Placement") {
		t.Errorf("the new sink's file has %q, %v", text, err)
	}
	// Events of game sessions are made only if somebody wanted them when the host started.
	next.Events.Sinks = []EventSink{{Name: "audit", Type: "file", Path: file, All: true, Kinds: []string{"gamesession"}}}
	if applied, restart, err := h.Reload(next); err != nil || applied != nil || !slices.Equal(restart, []string{"events.sinks"}) {
		t.Errorf("%v, %v, %v", applied, restart, err)
	}
	// A secret that cannot be read changes nothing.
	next.Events.Sinks = []EventSink{{Name: "hook", Type: "webhook-raw", URL: "https://example.com", All: true, SecretFile: filepath.Join(t.TempDir(), "none")}}
	if _, _, err := h.Reload(next); err == nil || !strings.Contains(err.Error(), "events.sinks[0].secretFile") {
		t.Errorf("%v", err)
	}
	if applied, _, err := h.Reload(c); err != nil || !slices.Equal(applied, []string{"events.sinks"}) || len(h.sinks) != 0 {
		t.Errorf("%v, %v", applied, err)
	}
}
