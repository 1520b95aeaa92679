package host

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// collected are the spans that a collector has got.
type collected struct {
	mu    sync.Mutex
	spans []*v1.Span
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	data := new(v1.TracesData)
	if err == nil {
		err = proto.Unmarshal(body, data)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, rs := range data.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

// path returns the names of a trace's spans from a name up to its parent from outside, once all are there.
func (c *collected) path(t *testing.T, trace, name string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c.mu.Lock()
		byID, names, at := map[string]*v1.Span{}, "", (*v1.Span)(nil)
		for _, s := range c.spans {
			if fmt.Sprintf("%x", s.TraceId) == trace {
				byID[string(s.SpanId)] = s
				if s.Name == name {
					at = s
				}
			}
		}
		c.mu.Unlock()
		for at != nil {
			names += at.Name + " < "
			parent := at.ParentSpanId
			if at = byID[string(parent)]; at == nil {
				names += fmt.Sprintf("%x", parent)
			}
		}
		if strings.HasSuffix(names, "b7ad6b7169203331") {
			return names
		}
		if time.Now().After(deadline) {
			t.Fatalf("trace %s has %q: %v", trace, names, byID)
		}
	}
}

// One trace goes from the caller's span over the API call and the placement to the launch of the game session, with matchmaking between them where it is used.
func TestOneTraceFromTheCallerToTheLaunch(t *testing.T) {
	synctest.Test(t, oneTraceFromTheCallerToTheLaunch)
}

func oneTraceFromTheCallerToTheLaunch(t *testing.T) {
	got := new(collected)
	at := memory(t)
	ln, err := at.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	collector := &http.Server{Handler: got}
	go collector.Serve(ln)
	t.Cleanup(func() { collector.Close() })
	c := config(t)
	c.Traces.Endpoint = "http://" + ln.Addr().String()
	h := begin(t, Options{Config: c, Network: at})
	call := func(trace, flags, operation, body string) {
		t.Helper()
		if status, _, text := h.call("POST", "/", body, "Content-Type", "application/x-amz-json-1.1", "X-Amz-Target", "GameLift."+operation,
			"traceparent", "00-"+trace+"-b7ad6b7169203331-"+flags); status != http.StatusOK {
			t.Fatalf("%s: %d %s", operation, status, text)
		}
	}
	const outside = "b7ad6b7169203331"
	placed, created, skipped := strings.Repeat("a1", 16), strings.Repeat("b2", 16), strings.Repeat("c3", 16)
	call(placed, "01", "StartGameSessionPlacement", `{"PlacementId":"p1","GameSessionQueueName":"queue-dev","MaximumPlayerSessionCount":4}`)
	call(created, "01", "CreateGameSession", `{"FleetId":"fleet-dev","MaximumPlayerSessionCount":4}`)
	call(skipped, "00", "CreateGameSession", `{"FleetId":"fleet-dev","MaximumPlayerSessionCount":4}`)
	ann, bob := strings.Repeat("d4", 16), strings.Repeat("e5", 16)
	for player, trace := range map[string]string{"ann": ann, "bob": bob} {
		call(trace, "01", "StartMatchmaking", `{"ConfigurationName":"match-dev","TicketId":"`+player+`","Players":[{"PlayerId":"`+player+`"}]}`)
	}
	if p := got.path(t, placed, "launch of a game session"); p != "launch of a game session < placement < StartGameSessionPlacement < "+outside {
		t.Error(p)
	}
	if p := got.path(t, created, "launch of a game session"); p != "launch of a game session < CreateGameSession < "+outside {
		t.Error(p)
	}
	for _, trace := range []string{ann, bob} {
		if p := got.path(t, trace, "matchmaking ticket"); p != "matchmaking ticket < StartMatchmaking < "+outside {
			t.Error(p)
		}
	}
	h.Close() // sends what waits
	whole := 0
	got.mu.Lock()
	for _, s := range got.spans {
		trace := fmt.Sprintf("%x", s.TraceId)
		if trace == skipped {
			t.Errorf("a trace that its caller does not record: %v", s)
		}
		if s.Name == "launch of a game session" && (trace == ann || trace == bob) {
			whole++
		}
		if s.Status != nil || s.EndTimeUnixNano < s.StartTimeUnixNano {
			t.Errorf("%v", s)
		}
	}
	got.mu.Unlock()
	if whole != 1 { // of two tickets, the one that is first in the match has the placement
		t.Errorf("%d launches in the traces of the match", whole)
	}
	for _, trace := range []string{ann, bob} {
		got.mu.Lock()
		has := false
		for _, s := range got.spans {
			has = has || s.Name == "placement" && fmt.Sprintf("%x", s.TraceId) == trace
		}
		got.mu.Unlock()
		if has {
			if p := got.path(t, trace, "launch of a game session"); p != "launch of a game session < placement < matchmaking ticket < StartMatchmaking < "+outside {
				t.Error(p)
			}
		}
	}
	if n := h.Counters(); n.TraceSpansDropped.Load() != 0 || n.TraceSpans.Load() == 0 {
		t.Errorf("%d sent, %d dropped", n.TraceSpans.Load(), n.TraceSpansDropped.Load())
	}
}
