package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"troupe/transport/host"
	"troupe/transport/transporttest/hosttest"
	"troupe/transport/transporttest/memnet"
)

// collector is an OpenTelemetry collector that takes requests with a key.
type collector struct {
	mu       sync.Mutex
	requests []string // path and headers that the tests set
	resource string   // attributes
	spans    []string // names
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	data := new(v1.TracesData)
	if err == nil {
		err = proto.Unmarshal(body, data)
	}
	if err != nil || r.Header.Get("X-Api-Key") == "" {
		http.Error(w, "no key, or no spans", http.StatusUnauthorized)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, fmt.Sprintf("%s %s %s", r.URL.Path, r.Header.Get("X-Api-Key"), r.Header.Get("X-Tenant")))
	for _, rs := range data.ResourceSpans {
		c.resource = ""
		for _, a := range rs.Resource.Attributes {
			if a.Key != "service.version" {
				c.resource += a.Key + "=" + a.Value.GetStringValue() + " "
			}
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				c.spans = append(c.spans, s.Name)
			}
		}
	}
}

// traced is a host with settings of traces, and what of it arrives at a collector.
type traced struct {
	env    map[string]string // %s is the collector's URL
	set    []string
	path   string
	about  string
	traces []string // traceparent of each call
	spans  string
}

// What the environment and the configuration say about traces arrives at a collector, and no secret in what is printed.
func TestTracesAsOpenTelemetryWantsThem(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(secret, []byte("key of the file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]traced{
		"environment alone": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "%s/in/here",
				"OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=key%%20of%%20the%%20file,x-tenant=a%%2C%%20b", "OTEL_SERVICE_NAME": "arena", "OTEL_RESOURCE_ATTRIBUTES": "zone=eu",
			},
			path: "/in/here", about: "service.name=arena zone=eu ", traces: []string{""}, spans: "CreateGameSession, launch of a game session",
		},
		"keys first": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "X-Api-Key=wrong,X-Tenant=a%%2C%%20b", "OTEL_TRACES_SAMPLER_ARG": "1",
			},
			set:  []string{"traces.endpoint=%s", `traces.headers=[{"name":"x-api-key","secretFile":"` + filepath.ToSlash(secret) + `"}]`, "traces.sampleRatio=0"},
			path: "/v1/traces", about: "service.name=troupe ",
			traces: []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"},
			spans:  "CreateGameSession, launch of a game session",
		},
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, c.arrives) })
	}
}

func (c traced) arrives(t *testing.T) {
	const key, tenant = "key of the file", "a, b"
	network, got := memnet.New(1), new(collector)
	t.Cleanup(network.Close)
	url := hosttest.Serve(t, network.Machine(), got)
	for name, value := range c.env {
		t.Setenv(name, strings.ReplaceAll(strings.ReplaceAll(value, "%s", url), "%%", "%"))
	}
	s := settings{Set: []string{"store.memory=true"}}
	for _, set := range c.set {
		s.Set = append(s.Set, strings.ReplaceAll(set, "%s", url))
	}
	cfg, err := s.load(hosttest.Config(t), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	h := hosttest.Start(t, host.Options{Config: cfg, Log: zerolog.Nop(), OpenTelemetry: s.otel, Network: network.Machine()})
	for _, traceparent := range c.traces {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.Host.Addrs().APIURL+"/", strings.NewReader(`{"FleetId":"fleet-dev","MaximumPlayerSessionCount":4}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
		r.Header.Set("X-Amz-Target", "GameLift.CreateGameSession")
		r.Header.Set("traceparent", traceparent)
		a, err := h.Web.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		if a.Body.Close(); a.StatusCode != http.StatusOK {
			t.Fatal(a.Status)
		}
	}
	h.Host.Close() // sends what waits
	got.mu.Lock()
	defer got.mu.Unlock()
	for _, r := range got.requests {
		if r != c.path+" "+key+" "+tenant {
			t.Errorf("asked %s", r)
		}
	}
	slices.Sort(got.spans)
	if got.resource != c.about || strings.Join(got.spans, ", ") != c.spans || h.Host.Counters().TraceSpansDropped.Load() != 0 {
		t.Errorf("%q, %v", got.resource, got.spans)
	}
	var printed bytes.Buffer
	if err := s.resolved.Load().Print(&printed); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(printed.String(), key) || strings.Contains(printed.String(), "wrong") {
		t.Error("a secret is printed")
	}
}
