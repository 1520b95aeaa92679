package main

import (
	"os"
	"slices"
	"strings"

	"troupe/cmd/internal/config"
	"troupe/transport/host"
	"troupe/transport/otlp"
)

// openTelemetry adds to a configuration what the environment variables of OpenTelemetry say about traces, and returns the rest of it.
// Keys of the configuration override them.
func openTelemetry(r *config.Resolved) (otlp.Environ, error) {
	e, err := otlp.ReadEnviron(os.Getenv)
	if err != nil {
		return e, err
	}
	if r.Origin("traces.endpoint") != "environment OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" {
		e.Endpoint = ""
	}
	t := &r.Config.Traces
	own := t.Headers
	for _, h := range e.Headers {
		if h.Value != "" && !slices.ContainsFunc(own, func(own host.TraceHeader) bool { return strings.EqualFold(own.Name, h.Name) }) {
			t.Headers = append(t.Headers, host.TraceHeader{Name: h.Name, Secret: h.Value})
		}
	}
	if len(t.Headers) > len(own) {
		r.Add("traces.headers", "environment "+e.HeadersFrom)
	}
	if e.Ratio >= 0 && r.Origin("traces.sampleRatio") == "default" {
		t.SampleRatio = e.Ratio
		r.Add("traces.sampleRatio", "environment "+e.RatioFrom)
	}
	return e, nil
}
