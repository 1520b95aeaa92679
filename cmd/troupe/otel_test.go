package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"troupe/transport/host"
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

// What the environment and the configuration say about traces arrives at a collector, and no secret in what is printed.
func TestTracesAsOpenTelemetryWantsThem(t *testing.T) {
	const key, tenant = "key of the file", "a, b"
	dir := t.TempDir()
	secret := filepath.Join(dir, "key")
	if err := os.WriteFile(secret, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		env    map[string]string // %s is the collector's URL
		set    []string
		path   string
		about  string
		traces []string // traceparent of each call
		spans  string
	}{
		"environment alone": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "%s/in/here",
				"OTEL_EXPORTER_OTLP_HEADERS": "x-api-key=key%%20of%%20the%%20file,x-tenant=a%%2C%%20b", "OTEL_SERVICE_NAME": "arena", "OTEL_RESOURCE_ATTRIBUTES": "zone=eu",
			},
			path: "/in/here", about: "service.name=arena zone=eu ", traces: []string{""}, spans: "launch of a game session, CreateGameSession",
		},
		"keys first": {
			env: map[string]string{
				"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "X-Api-Key=wrong,X-Tenant=a%%2C%%20b", "OTEL_TRACES_SAMPLER_ARG": "1",
			},
			set:  []string{"traces.endpoint=%s", `traces.headers=[{"name":"x-api-key","secretFile":"` + filepath.ToSlash(secret) + `"}]`, "traces.sampleRatio=0"},
			path: "/v1/traces", about: "service.name=troupe ",
			traces: []string{"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"},
			spans:  "launch of a game session, CreateGameSession",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := new(collector)
			server := httptest.NewServer(got)
			defer server.Close()
			for name, value := range c.env {
				t.Setenv(name, strings.ReplaceAll(strings.ReplaceAll(value, "%s", server.URL), "%%", "%"))
			}
			s := settings{Set: []string{"api.addr=127.0.0.1:0", "websocket.addr=127.0.0.1:0", "fast.addr=127.0.0.1:0", "wss.addr=", "dtls.addr=", "kcp.addr=", "store.memory=true"}}
			for _, set := range c.set {
				s.Set = append(s.Set, strings.ReplaceAll(set, "%s", server.URL))
			}
			s.Set = append(s.Set, "log.gameSessions.dir="+filepath.Join(dir, "logs"))
			cfg, err := s.load(host.Defaults(), io.Discard)
			if err != nil {
				t.Fatal(err)
			}
			h, err := host.Start(host.Options{Config: cfg, Log: zerolog.Nop(), OpenTelemetry: s.otel})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			for _, traceparent := range c.traces {
				r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.Addrs().APIURL+"/", strings.NewReader(`{"FleetId":"fleet-dev","MaximumPlayerSessionCount":4}`))
				if err != nil {
					t.Fatal(err)
				}
				r.Header.Set("Content-Type", "application/x-amz-json-1.1")
				r.Header.Set("X-Amz-Target", "GameLift.CreateGameSession")
				r.Header.Set("traceparent", traceparent)
				a, err := http.DefaultClient.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				if a.Body.Close(); a.StatusCode != http.StatusOK {
					t.Fatal(a.Status)
				}
			}
			h.Close() // sends what waits
			got.mu.Lock()
			defer got.mu.Unlock()
			for _, r := range got.requests {
				if r != c.path+" "+key+" "+tenant {
					t.Errorf("asked %s", r)
				}
			}
			if got.resource != c.about || !sameSpans(got.spans, c.spans) || h.Counters().TraceSpansDropped.Load() != 0 {
				t.Errorf("%q, %v", got.resource, got.spans)
			}
			var printed bytes.Buffer
			if err := s.resolved.Load().Print(&printed); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(printed.String(), key) || strings.Contains(printed.String(), "wrong") {
				t.Error("a secret is printed")
			}
		})
	}
}

// sameSpans reports whether the names of spans are those of a list, in any order.
func sameSpans(spans []string, want string) bool {
	left := strings.Split(want, ", ")
	for _, s := range spans {
		for i := range left {
			if left[i] == s {
				left = append(left[:i], left[i+1:]...)
				break
			}
		}
	}
	return len(left) == 0 && len(spans) == len(strings.Split(want, ", "))
}
