package otlp

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"troupe/messages/counters"
	"troupe/messages/tracing"
	"troupe/transport/transporttest/memnet"
)

// world is a test in virtual time, with a network of its own.
type world struct {
	*testing.T
	net memnet.Machine
}

func inBubble(t *testing.T, f func(t *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		network := memnet.New(1)
		t.Cleanup(network.Close)
		f(&world{t, network.Machine()})
	})
}

// listen returns a listener and its URL. A nil handler never answers.
func (w *world) listen(h http.HandlerFunc) string {
	w.Helper()
	l, err := w.net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { l.Close() })
	if h != nil {
		server := &http.Server{Handler: h}
		go server.Serve(l)
		w.Cleanup(func() { server.Close() })
	}
	return "http://" + l.Addr().String()
}

func (w *world) exporter(endpoint string, headers ...Header) (*Exporter, *counters.Set) {
	w.Helper()
	n := new(counters.Set)
	e, err := New(Options{Endpoint: endpoint, Headers: headers, Version: "v1", Log: zerolog.Nop(), Counters: n, DialContext: w.net.DialContext})
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(e.Close)
	return e, n
}

// What is sent is what OpenTelemetry's own types read: a TracesData has the encoding of an ExportTraceServiceRequest.
func TestSpansAreWhatOpenTelemetryReads(t *testing.T) { inBubble(t, spansAreWhatOpenTelemetryReads) }

func spansAreWhatOpenTelemetryReads(t *world) {
	got := make(chan *v1.TracesData, 1)
	collector := t.listen(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		data := new(v1.TracesData)
		if err == nil {
			err = proto.Unmarshal(body, data)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s %v: %v", r.Method, r.URL, r.Header, err)
		}
		got <- data
	})
	e, n := t.exporter(collector + "/")
	tracer := tracing.New(e.Record, 1)
	root := tracer.Start(tracing.Context{}, "CreateGameSession")
	root.Server = true
	child := tracer.Start(root.Context, "launch \xff"+strings.Repeat("x", 1000))
	child.Set("troupe.fleet.id", "fleet-dev")
	child.End("boom")
	root.End("")
	e.Close()
	data := <-got
	if len(data.ResourceSpans) != 1 || len(data.ResourceSpans[0].ScopeSpans) != 1 || len(data.ResourceSpans[0].ScopeSpans[0].Spans) != 2 {
		t.Fatalf("%v", data)
	}
	if a := data.ResourceSpans[0].Resource.Attributes; a[0].Key != "service.name" || a[0].Value.GetStringValue() != "troupe" || a[1].Value.GetStringValue() != "v1" {
		t.Errorf("%v", a)
	}
	if len(data.ProtoReflect().GetUnknown())+len(data.ResourceSpans[0].ProtoReflect().GetUnknown()) != 0 {
		t.Error("there are fields that OpenTelemetry does not know")
	}
	c, r := data.ResourceSpans[0].ScopeSpans[0].Spans[0], data.ResourceSpans[0].ScopeSpans[0].Spans[1]
	if string(c.ParentSpanId) != string(root.SpanID[:]) || string(c.TraceId) != string(r.TraceId) || r.ParentSpanId != nil || r.Name != "CreateGameSession" ||
		r.Kind != v1.Span_SPAN_KIND_SERVER || c.Kind != v1.Span_SPAN_KIND_INTERNAL || r.Status != nil ||
		c.Status.Code != v1.Status_STATUS_CODE_ERROR || c.Status.Message != "boom" || c.Attributes[0].Value.GetStringValue() != "fleet-dev" ||
		int64(c.StartTimeUnixNano) != child.Began.UnixNano() || int64(c.EndTimeUnixNano) != child.Ended.UnixNano() || len(c.Name) > textMax+3 || len(c.ProtoReflect().GetUnknown()) != 0 {
		t.Errorf("%v\n%v", c, r)
	}
	if n.TraceSpans.Load() != 2 || n.TraceSpansDropped.Load() != 0 {
		t.Errorf("%d sent, %d dropped", n.TraceSpans.Load(), n.TraceSpansDropped.Load())
	}
}

// Whatever the collector does, spans wait in a bounded queue, none is lost without being counted, and the end waits for closeMax at most.
func TestABadCollectorCostsNothing(t *testing.T) {
	for name, takes := range map[string]time.Duration{"down": 0, "silent": closeMax, "refusing": 0} {
		inBubble(t, func(t *world) {
			asked := 0
			endpoint := map[string]func() string{
				"down":   func() string { return "http://127.0.0.1:4318" },
				"silent": func() string { return t.listen(nil) },
				"refusing": func() string {
					return t.listen(func(w http.ResponseWriter, _ *http.Request) {
						asked++
						http.Error(w, strings.Repeat("no ", 1<<20), http.StatusServiceUnavailable)
					})
				},
			}[name]()
			e, n := t.exporter(endpoint)
			e.client.Timeout = time.Hour // what ends a request is Close
			tracer := tracing.New(e.Record, 1)
			const all = 4 * queueMax
			for range all {
				tracer.Start(tracing.Context{}, "x").End("")
			}
			start := time.Now()
			if e.Close(); time.Since(start) != takes {
				t.Errorf("%s: the end takes %v, want %v", name, time.Since(start), takes)
			}
			tracer.Start(tracing.Context{}, "after the end").End("")
			if n.TraceSpans.Load() != 0 || n.TraceSpansDropped.Load() < all || (asked > 0) != (name == "refusing") {
				t.Errorf("%s: %d of %d dropped, %d sent, asked %d times", name, n.TraceSpansDropped.Load(), all, n.TraceSpans.Load(), asked)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	for endpoint, good := range map[string]bool{
		"http://127.0.0.1:4318": true, "https://collector.example.com/otlp": true, "127.0.0.1:4318": false, "grpc://x:4317": false, "http://": false, "http://x?a=b": false, "": false,
	} {
		if err := Check(endpoint); err == nil != good {
			t.Errorf("%s: %v", endpoint, err)
		}
	}
}
