package serviceapi

import (
	"net/http"

	"troupe/messages/tracing"
)

// began returns what makes a span of each call, below the one that its traceparent names; nil without a tracer.
func began(t *tracing.Tracer) func(*http.Request, string, string) (*http.Request, func(string)) {
	if t == nil {
		return nil
	}
	return func(r *http.Request, operation, id string) (*http.Request, func(string)) {
		parent := tracing.Parse(r.Header.Get("traceparent"))
		span := t.Start(parent, operation)
		if span != nil {
			span.Server = true
			span.Set("rpc.system", "aws-api")
			span.Set("rpc.service", "GameLift")
			span.Set("rpc.method", operation)
			span.Set("aws.request_id", id)
		}
		return r.WithContext(tracing.With(r.Context(), span.Below(parent))), span.End
	}
}
