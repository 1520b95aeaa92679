package host

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors/store"
	"troupe/messages"
)

func placementEvent(n int) messages.Event {
	return messages.Event{
		ID: fmt.Sprintf("event-%d", n), Kind: messages.EventPlacement, Type: "PlacementTimedOut", Time: time.Now(), Name: "q", ARN: "arn:q",
		Target: "arn:aws:sns:us-east-1:1:t", Detail: []byte(`{"type":"PlacementTimedOut","placementId":"p"}`),
	}
}

// left returns the ids of the events in a store file, after adding some. No host may have the store open.
func left(t *testing.T, path string, add ...messages.Event) (ids []string) {
	t.Helper()
	s, err := store.Open(store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range add {
		s.Commit([]store.Change{store.Put(store.Event, e.ID, e)}, nil)
	}
	s.Flush()
	if _, err := s.Load(store.Event, func(id string, _ []byte) error { ids = append(ids, id); return nil }); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// An event survives restarts of the host until its sink has received it, and is then deleted. API-53.
func TestEventsOutliveTheHostUntilTheyAreDelivered(t *testing.T) {
	synctest.Test(t, eventsOutliveTheHostUntilTheyAreDelivered)
}

func eventsOutliveTheHostUntilTheyAreDelivered(t *testing.T) {
	up, at := false, memory(t)
	var bodies []string
	hook, err := at.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !up {
			w.WriteHeader(http.StatusBadGateway)
		}
		bodies = append(bodies, string(body))
	})}
	go server.Serve(hook)
	defer server.Close()
	c := storeConfig(t)
	left(t, c.Store.Path, placementEvent(1))
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("s\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Events.Sinks = []EventSink{{Name: "hook", Type: "webhook-raw", URL: "http://" + hook.Addr().String(), SecretFile: secret, Targets: []string{"arn:aws:sns:*"}}}
	for n := range 2 {
		h := begin(t, Options{Config: c, Network: at})
		synctest.Wait()
		h.Close()
		if ids := left(t, c.Store.Path); len(ids) != 1-n {
			t.Fatalf("left %v", ids)
		}
		up = true
	}
	if len(bodies) != 2 || bodies[0] != bodies[1] || !strings.Contains(bodies[0], `"placementId":"p"`) {
		t.Errorf("got %q", bodies)
	}
	if ids := left(t, c.Store.Path); len(ids) != 0 {
		t.Errorf("left %v", ids)
	}
}

func TestEventsAreStreamedToWhoHasTheToken(t *testing.T) {
	synctest.Test(t, eventsAreStreamedToWhoHasTheToken)
}

func eventsAreStreamedToWhoHasTheToken(t *testing.T) {
	c := config(t)
	c.Events.SSE.Secret = "token"
	h := begin(t, Options{Config: c})
	get := func(headers ...string) *http.Response {
		t.Helper()
		a := h.ask("GET", "/events?queue=q", "", headers...)
		t.Cleanup(func() { a.Body.Close() })
		return a
	}
	for _, token := range []string{"", "Bearer ", "Bearer tokens", "token"} {
		if a := get("X-Forwarded-For", "192.0.2.1", "Authorization", token); a.StatusCode != http.StatusUnauthorized {
			t.Errorf("%q: %d", token, a.StatusCode)
		}
	}
	var readers []*bufio.Scanner
	for _, a := range []*http.Response{get("Authorization", "Bearer token"), get("X-Forwarded-For", "192.0.2.1", "Authorization", "Bearer token")} {
		lines := bufio.NewScanner(a.Body)
		if !lines.Scan() || a.StatusCode != http.StatusOK {
			t.Fatal(a.StatusCode)
		}
		h.events.Post(placementEvent(1))
		for lines.Scan() && lines.Text() != "event: PlacementTimedOut" {
		}
		if lines.Text() == "" {
			t.Error(lines.Err())
		}
		readers = append(readers, lines)
	}
	h.Close() // with readers: Close ends their streams at once, without waiting for a timeout
	for _, lines := range readers {
		for lines.Scan() {
		}
		if err := lines.Err(); err != nil {
			t.Error(err)
		}
	}
}

func TestEventSettingsAreChecked(t *testing.T) {
	hook := func(change func(*EventSink)) func(*Events) {
		return func(e *Events) {
			s := EventSink{Name: "a", Type: "webhook-raw", URL: "http://x", Secret: "s", All: true}
			change(&s)
			e.Sinks = []EventSink{s}
		}
	}
	for want, change := range map[string]func(*Events){
		// Validate also reports the errors of package events
		"events.sinks[0]: type: must be":    hook(func(s *EventSink) { s.Type = "nats" }),
		"events.sinks[0]: must have one of": hook(func(s *EventSink) { s.SecretFile = "x" }),
		"events.sinks[0].secretEnv: names":  hook(func(s *EventSink) { s.Secret, s.SecretEnv = "", "X" }),
		"events.sinks[1].name: is there twice": func(e *Events) {
			hook(func(*EventSink) {})(e)
			e.Sinks = append(e.Sinks, e.Sinks[0])
		},
		"events.sse.buffer: ":          func(e *Events) { e.SSE.Buffer = -1 },
		"events.sse: must have one of": func(e *Events) { e.SSE.Secret, e.SSE.SecretFile = "a", "b" },
	} {
		c := Defaults()
		change(&c.Events)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	c := config(t)
	hook(func(s *EventSink) { s.Secret, s.SecretFile = "", "missing" })(&c.Events)
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if _, err := Start(Options{Config: c, Log: zerolog.Nop(), Network: memory(t)}); err == nil || !strings.Contains(err.Error(), "events.sinks[0].secretFile") {
			t.Errorf("a secret that is not there: %v", err)
		}
	})
}
