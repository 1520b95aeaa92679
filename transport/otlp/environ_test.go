package otlp

import (
	"net/http"
	"reflect"
	"strings"
	"testing"

	"troupe/messages/counters"
	"troupe/messages/tracing"
)

func environ(pairs ...string) func(string) string {
	return func(name string) string {
		for _, p := range pairs {
			if n, value, _ := strings.Cut(p, "="); n == name {
				return value
			}
		}
		return ""
	}
}

func TestEnviron(t *testing.T) {
	for _, c := range []struct {
		pairs []string
		want  Environ
	}{
		{nil, Environ{Ratio: -1}},
		{[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://x/y"}, Environ{Endpoint: "https://x/y", Ratio: -1}},
		{[]string{"OTEL_EXPORTER_OTLP_HEADERS=api-key=a%2Cb%20c=, x = y ,"}, Environ{Headers: []Header{{"api-key", "a,b c="}, {"x", "y"}}, Ratio: -1}},
		{[]string{"OTEL_EXPORTER_OTLP_HEADERS=a=1", "OTEL_EXPORTER_OTLP_TRACES_HEADERS=b=2"}, Environ{Headers: []Header{{"b", "2"}}, Ratio: -1}},
		{[]string{"OTEL_RESOURCE_ATTRIBUTES=service.name=one,deployment.environment=pr%25od", "OTEL_SERVICE_NAME=two"},
			Environ{Resource: []tracing.Attribute{{Key: "service.name", Value: "one"}, {Key: "deployment.environment", Value: "pr%od"}, {Key: "service.name", Value: "two"}}, Ratio: -1}},
		{[]string{"OTEL_TRACES_SAMPLER_ARG=0.25"}, Environ{Ratio: 0.25}},
		{[]string{"OTEL_TRACES_SAMPLER=parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG=0"}, Environ{}},
		{[]string{"OTEL_TRACES_SAMPLER=always_on", "OTEL_TRACES_SAMPLER_ARG=0.5"}, Environ{Ratio: 1}},
		{[]string{"OTEL_TRACES_SAMPLER=parentbased_always_off"}, Environ{}},
	} {
		got, err := ReadEnviron(environ(c.pairs...))
		if got.HeadersFrom == "" != (len(c.want.Headers) == 0) || got.RatioFrom == "" != (c.want.Ratio < 0) {
			t.Errorf("%v: from %q and %q", c.pairs, got.HeadersFrom, got.RatioFrom)
		}
		got.HeadersFrom, got.RatioFrom = "", ""
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: %+v, %v", c.pairs, got, err)
		}
	}
	const hidden = "hush"
	for pair, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=x:4318":                           "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: must be a URL",
		"OTEL_EXPORTER_OTLP_HEADERS=a=1,hush":                                 "OTEL_EXPORTER_OTLP_HEADERS: entry 2 must be NAME=VALUE",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS=a=hush%zz":                         "OTEL_EXPORTER_OTLP_TRACES_HEADERS: entry 1 must be",
		"OTEL_EXPORTER_OTLP_HEADERS=a=hush%0d%0aX: y":                         "the value of a has a line break",
		"OTEL_EXPORTER_OTLP_HEADERS=a b=hush":                                 "is no name of a header",
		"OTEL_EXPORTER_OTLP_HEADERS=Host=hush":                                "Host is set by the host itself",
		"OTEL_EXPORTER_OTLP_HEADERS=" + strings.Repeat("a=1,", HeadersMax+1):  "at most 32",
		"OTEL_RESOURCE_ATTRIBUTES=" + strings.Repeat("a=1,", attributesMax+1): "at most 128",
		"OTEL_TRACES_SAMPLER_ARG=1.5":                                         "must be 0 to 1",
		"OTEL_TRACES_SAMPLER_ARG=NaN":                                         "must be 0 to 1",
		"OTEL_TRACES_SAMPLER=jaeger_remote":                                   "OTEL_TRACES_SAMPLER: must be",
	} {
		if _, err := ReadEnviron(environ(pair)); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), hidden) {
			t.Errorf("%s: %v", pair, err)
		}
	}
}

// A redirect to another server does not get the headers, whose values are secrets.
func TestRedirectsDoNotGetTheSecrets(t *testing.T) {
	inBubble(t, func(t *world) {
		other := t.listen(func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked with %v", r.Header) })
		asked := ""
		collector := t.listen(func(w http.ResponseWriter, r *http.Request) {
			asked = r.Header.Get("Api-Key")
			http.Redirect(w, r, other, http.StatusTemporaryRedirect)
		})
		e, n := t.exporter(collector, Header{"api-key", "k"})
		tracing.New(e.Record, 1).Start(tracing.Context{}, "x").End("")
		e.Close()
		if asked != "k" || n.TraceSpansDropped.Load() != 1 {
			t.Errorf("asked with %q, %d dropped", asked, n.TraceSpansDropped.Load())
		}
	})
	for _, h := range []Header{{"a b", "c"}, {"", "c"}, {"Content-Type", "c"}, {"a", "c\n"}} {
		if _, err := New(Options{Endpoint: "http://127.0.0.1:4318", Headers: []Header{h}, Counters: new(counters.Set)}); err == nil {
			t.Errorf("%q is taken", h)
		}
	}
}
