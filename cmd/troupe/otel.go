package main

import (
	"os"
	"slices"
	"strings"

	"troupe/cmd/internal/config"
	"troupe/transport/host"
	"troupe/transport/otlp"
)

// openTelemetry adds to c what the environment variables of OpenTelemetry say about traces. Keys of the configuration override them.
func (s *settings) openTelemetry(r *config.Resolved, c *host.Config) error {
	e, err := otlp.ReadEnviron(os.Getenv)
	if err != nil {
		return err
	}
	if r.Origin("traces.endpoint") != "environment OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" {
		e.Endpoint = ""
	}
	for _, h := range e.Headers {
		if h.Value != "" && !slices.ContainsFunc(r.Config.Traces.Headers, func(own host.TraceHeader) bool { return strings.EqualFold(own.Name, h.Name) }) {
			c.Traces.Headers = append(c.Traces.Headers, host.TraceHeader{Name: h.Name, Secret: h.Value})
		}
	}
	if e.Ratio >= 0 && r.Origin("traces.sampleRatio") == "default" {
		c.Traces.SampleRatio = e.Ratio
	}
	s.otel = e
	return nil
}
