package host

import (
	"fmt"

	"troupe/messages/tracing"
	"troupe/transport/otlp"
)

// Traces configures where traces of the control plane go: API calls, placements, matchmaking, launches of game sessions.
type Traces struct {
	Endpoint    string        `config:"endpoint" level:"common"` // URL of an OpenTelemetry collector that takes OTLP over HTTP, such as http://127.0.0.1:4318; empty: OTEL_EXPORTER_OTLP_TRACES_ENDPOINT or OTEL_EXPORTER_OTLP_ENDPOINT of the environment, and without them no traces
	Headers     []TraceHeader `config:"headers"`                 // headers of each request to the collector, such as its API key; also from OTEL_EXPORTER_OTLP_HEADERS
	SampleRatio float64       `config:"sampleRatio"`             // part of the traces that is recorded, 0 to 1, unless the caller's traceparent decides; also from OTEL_TRACES_SAMPLER_ARG
}

// TraceHeader is a header of the requests to the collector of traces. One of its three settings for the value is set.
type TraceHeader struct {
	Name       string `config:"name"`       // such as Authorization
	Secret     string `config:"secret"`     // the value; only the owner may have access to the configuration file then
	SecretFile string `config:"secretFile"` // file with the value; only its owner may have access
	SecretEnv  string `config:"secretEnv"`  // name of an environment variable with the value, not beginning with TROUPE_
}

func (v *checks) traces(t *Traces) {
	if t.Endpoint != "" {
		if err := otlp.Check(t.Endpoint); err != nil {
			v.that("traces.endpoint", false, err.Error())
		}
	}
	v.that("traces.headers", len(t.Headers) <= otlp.HeadersMax, fmt.Sprintf("must be at most %d", otlp.HeadersMax))
	for i, h := range t.Headers {
		key := fmt.Sprintf("traces.headers[%d]", i)
		v.secret(key, h.Secret, h.SecretFile, h.SecretEnv)
		v.that(key, h.Secret+h.SecretFile+h.SecretEnv != "", "must have one of secret, secretFile and secretEnv")
		if err := (otlp.Header{Name: h.Name, Value: h.Secret}).Check(); err != nil {
			v.that(key, false, err.Error())
		}
	}
	v.that("traces.sampleRatio", t.SampleRatio >= 0 && t.SampleRatio <= 1, "must be 0 to 1")
}

// headers reads the files of secrets.
func (t *Traces) headers() (all []otlp.Header, err error) {
	for i, h := range t.Headers {
		value, err := secretOf(h.Secret, h.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("host: traces.headers[%d].secretFile: %w", i, err)
		}
		all = append(all, otlp.Header{Name: h.Name, Value: value})
	}
	return all, nil
}

func (h *Host) startTraces(o Options) error {
	t := &o.Config.Traces
	if t.Endpoint == "" {
		return nil
	}
	headers, err := t.headers()
	if err != nil {
		return err
	}
	e, err := otlp.New(otlp.Options{
		Endpoint: t.Endpoint, Whole: t.Endpoint == o.OpenTelemetry.Endpoint, Headers: headers, Resource: o.OpenTelemetry.Resource,
		Version: o.Version, Log: o.Log, Counters: h.count, DialContext: o.dial(),
	})
	if err != nil {
		return fmt.Errorf("host: traces: %w", err)
	}
	h.traces, h.tracer = e, tracing.New(e.Record, t.SampleRatio)
	return nil
}
