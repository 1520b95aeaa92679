package otlp

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"troupe/messages/counters"
	"troupe/messages/tracing"
)

func exporter(t *testing.T, endpoint string) (*Exporter, *counters.Set) {
	t.Helper()
	n := new(counters.Set)
	e, err := New(Options{Endpoint: endpoint, Version: "v1", Log: zerolog.Nop(), Counters: n})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e, n
}

// What is sent is what OpenTelemetry's own types read: a TracesData has the encoding of an ExportTraceServiceRequest.
func TestSpansAreWhatOpenTelemetryReads(t *testing.T) {
	got := make(chan *v1.TracesData, 1)
	collector := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		data := new(v1.TracesData)
		if err == nil {
			err = proto.Unmarshal(body, data)
		}
		if err != nil || r.URL.Path != "/v1/traces" || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s %v: %v", r.Method, r.URL, r.Header, err)
		}
		got <- data
	}))
	defer collector.Close()
	e, n := exporter(t, collector.URL+"/")
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

// Whatever the collector does, spans wait in a bounded queue, none is lost without being counted, and the end is not kept waiting.
func TestABadCollectorCostsNothing(t *testing.T) {
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections are made, and never answered
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	var asked atomic.Int64
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		http.Error(w, strings.Repeat("no ", 1<<20), http.StatusServiceUnavailable)
	}))
	defer refusing.Close()
	for name, endpoint := range map[string]string{"down": "http://" + nobody.Addr().String(), "silent": "http://" + silent.Addr().String(), "refusing": refusing.URL} {
		t.Run(name, func(t *testing.T) {
			e, n := exporter(t, endpoint)
			e.client.Timeout = time.Hour // what ends a request is Close
			tracer := tracing.New(e.Record, 1)
			const all = 4 * queueMax
			for range all {
				tracer.Start(tracing.Context{}, "x").End("")
			}
			ended := make(chan struct{})
			go func() {
				e.Close()
				close(ended)
			}()
			select {
			case <-ended:
			case <-time.After(30 * time.Second):
				t.Fatal("Close waits for the collector")
			}
			tracer.Start(tracing.Context{}, "after the end").End("")
			if n.TraceSpans.Load() != 0 || n.TraceSpansDropped.Load() < all {
				t.Errorf("%d of %d dropped, %d sent", n.TraceSpansDropped.Load(), all, n.TraceSpans.Load())
			}
		})
	}
	if asked.Load() == 0 {
		t.Error("the collector that refuses was not asked")
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
