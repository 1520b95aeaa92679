package otlp

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"troupe/messages/tracing"
)

// Environ is what OpenTelemetry's environment variables say about traces, as its specification has them ("Environment Variable
// Specification", "OpenTelemetry Protocol Exporter"). An empty variable is as none.
type Environ struct {
	// Endpoint is OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: the whole URL, to which nothing is added. Empty: not set.
	Endpoint string
	// Headers are those of OTEL_EXPORTER_OTLP_TRACES_HEADERS, or else of OTEL_EXPORTER_OTLP_HEADERS. Their values are secrets.
	Headers []Header
	// Resource are the attributes of OTEL_RESOURCE_ATTRIBUTES, with OTEL_SERVICE_NAME as service.name.
	Resource []tracing.Attribute
	// Ratio is what OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG say; negative: nothing.
	Ratio float64
	// HeadersFrom and RatioFrom are the variables that say so; empty without any.
	HeadersFrom, RatioFrom string
}

// Header is a header of each request to the collector.
type Header struct{ Name, Value string }

const (
	// HeadersMax is the number of headers that requests may have.
	HeadersMax    = 32
	attributesMax = 128
)

// ReadEnviron reads the environment. Its errors name the variable, and no value of a header.
func ReadEnviron(getenv func(string) string) (e Environ, err error) {
	const endpoint, attributes = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_RESOURCE_ATTRIBUTES"
	if e.Endpoint = getenv(endpoint); e.Endpoint != "" {
		if err := Check(e.Endpoint); err != nil {
			return e, fmt.Errorf("%s: %w", endpoint, err)
		}
	}
	headers := "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
	if getenv(headers) == "" {
		headers = "OTEL_EXPORTER_OTLP_HEADERS"
	}
	pairs, err := readPairs(getenv(headers), HeadersMax)
	if err != nil {
		return e, fmt.Errorf("%s: %w", headers, err)
	}
	for i, p := range pairs {
		h := Header{p.Key, p.Value}
		if err := h.Check(); err != nil {
			return e, fmt.Errorf("%s: header %d: %w", headers, i+1, err)
		}
		e.Headers, e.HeadersFrom = append(e.Headers, h), headers
	}
	if e.Resource, err = readPairs(getenv(attributes), attributesMax); err != nil {
		return e, fmt.Errorf("%s: %w", attributes, err)
	}
	if name := getenv("OTEL_SERVICE_NAME"); name != "" {
		e.Resource = append(e.Resource, tracing.Attribute{Key: "service.name", Value: name})
	}
	const sampler, part = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	e.Ratio, err = ratio(getenv(sampler), getenv(part))
	switch {
	case e.Ratio < 0:
	case strings.Contains(getenv(sampler), "always"):
		e.RatioFrom = sampler
	default:
		e.RatioFrom = part
	}
	return e, err
}

// readPairs reads NAME=VALUE,NAME=VALUE, where names and values may be percent-encoded.
func readPairs(list string, most int) (all []tracing.Attribute, err error) {
	if strings.TrimSpace(list) == "" {
		return nil, nil
	}
	for i, pair := range strings.Split(list, ",") {
		if strings.TrimSpace(pair) == "" { // a comma at the end
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		name, bad := url.PathUnescape(strings.TrimSpace(name))
		value, worse := url.PathUnescape(strings.TrimSpace(value))
		if !ok || name == "" || bad != nil || worse != nil {
			return nil, fmt.Errorf("entry %d must be NAME=VALUE, with , and %% in them written as %%2C and %%25", i+1)
		}
		if all = append(all, tracing.Attribute{Key: name, Value: value}); len(all) > most {
			return nil, fmt.Errorf("must have at most %d entries", most)
		}
	}
	return all, nil
}

// ratio returns the part of the traces that is recorded. All samplers are parent based here: a caller's own decision counts.
func ratio(sampler, arg string) (float64, error) {
	switch strings.TrimPrefix(sampler, "parentbased_") {
	case "always_on":
		return 1, nil
	case "always_off":
		return 0, nil
	case "", "traceidratio":
	default:
		return 0, fmt.Errorf("OTEL_TRACES_SAMPLER: must be always_on, always_off or traceidratio, also with parentbased_ before it, not %q", sampler)
	}
	if arg == "" {
		return -1, nil
	}
	r, err := strconv.ParseFloat(arg, 64)
	if err != nil || !(r >= 0 && r <= 1) {
		return 0, errors.New("OTEL_TRACES_SAMPLER_ARG: must be 0 to 1")
	}
	return r, nil
}

// Check returns why requests cannot have a header. The error does not name its value.
func (h Header) Check() error {
	const marks = "!#$%&'*+-.^_`|~"
	for _, c := range []byte(h.Name) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte(marks, c) >= 0) {
			return fmt.Errorf("%q is no name of a header", clean(h.Name))
		}
	}
	switch strings.ToLower(h.Name) {
	case "":
		return errors.New("has no name")
	case "content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "host":
		return fmt.Errorf("%s is set by the host itself", h.Name)
	}
	if strings.ContainsFunc(h.Value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
		return fmt.Errorf("the value of %s has a line break or another control character", h.Name)
	}
	return nil
}

// attributesOf returns the attributes of the host: a later one of the same name counts.
func attributesOf(version string, more []tracing.Attribute) []tracing.Attribute {
	all := []tracing.Attribute{{Key: "service.name", Value: "troupe"}, {Key: "service.version", Value: version}}
next:
	for _, a := range more {
		for i := range all {
			if all[i].Key == a.Key {
				all[i].Value = a.Value
				continue next
			}
		}
		all = append(all, a)
	}
	return all
}
