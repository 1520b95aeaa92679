package host

import (
	"fmt"

	"troupe/messages/tracing"
	"troupe/transport/otlp"
)

// Traces configures where traces of the control plane go: API calls, placements, matchmaking, launches of game sessions.
type Traces struct {
	Endpoint string `config:"endpoint"` // URL of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; empty: OTEL_EXPORTER_OTLP_ENDPOINT of the environment, and without it no traces
}

func (v *checks) traces(t *Traces) {
	if t.Endpoint != "" {
		if err := otlp.Check(t.Endpoint); err != nil {
			v.that("traces.endpoint", false, err.Error())
		}
	}
}

func (h *Host) startTraces(o Options) error {
	if o.Config.Traces.Endpoint == "" {
		return nil
	}
	e, err := otlp.New(otlp.Options{Endpoint: o.Config.Traces.Endpoint, Version: o.Version, Log: o.Log, Counters: h.count})
	if err != nil {
		return fmt.Errorf("host: traces.endpoint: %w", err)
	}
	h.traces, h.tracer = e, tracing.New(e.Record)
	return nil
}
