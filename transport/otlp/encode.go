package otlp

import (
	"google.golang.org/protobuf/encoding/protowire"

	"troupe/messages/tracing"
)

// Numbers of fields of opentelemetry/proto/trace/v1/trace.proto, collector/trace/v1/trace_service.proto and
// common/v1/common.proto.
const (
	requestResourceSpans = 1
	resourceOf           = 1
	scopeSpansOf         = 2
	resourceAttributes   = 1
	scopeOf              = 1
	spansOf              = 2
	scopeName            = 1
	spanTraceID          = 1
	spanSpanID           = 2
	spanParent           = 4
	spanName             = 5
	spanKind             = 6
	spanStart            = 7
	spanEnd              = 8
	spanAttributes       = 9
	spanStatus           = 15
	statusMessage        = 2
	statusCode           = 3
	attributeKey         = 1
	attributeValue       = 2
	valueString          = 1

	kindInternal = 1
	kindServer   = 2
	codeError    = 2
)

// encode returns an ExportTraceServiceRequest.
func encode(resource []tracing.Attribute, spans []*tracing.Span) []byte {
	var about, all []byte
	for _, a := range resource {
		about = nested(about, resourceAttributes, attribute(a))
	}
	all = nested(all, scopeOf, text(nil, scopeName, "troupe"))
	for _, s := range spans {
		all = nested(all, spansOf, span(s))
	}
	return nested(nil, requestResourceSpans, nested(nested(nil, resourceOf, about), scopeSpansOf, all))
}

func span(s *tracing.Span) (b []byte) {
	b = nested(b, spanTraceID, s.TraceID[:])
	b = nested(b, spanSpanID, s.SpanID[:])
	if s.Parent != [8]byte{} {
		b = nested(b, spanParent, s.Parent[:])
	}
	b = text(b, spanName, s.Name)
	kind := uint64(kindInternal)
	if s.Server {
		kind = kindServer
	}
	b = protowire.AppendVarint(protowire.AppendTag(b, spanKind, protowire.VarintType), kind)
	b = protowire.AppendFixed64(protowire.AppendTag(b, spanStart, protowire.Fixed64Type), uint64(s.Began.UnixNano()))
	b = protowire.AppendFixed64(protowire.AppendTag(b, spanEnd, protowire.Fixed64Type), uint64(s.Ended.UnixNano()))
	for _, a := range s.Attributes {
		b = nested(b, spanAttributes, attribute(a))
	}
	if s.Error != "" {
		status := text(nil, statusMessage, s.Error)
		b = nested(b, spanStatus, protowire.AppendVarint(protowire.AppendTag(status, statusCode, protowire.VarintType), codeError))
	}
	return b
}

func attribute(a tracing.Attribute) []byte {
	return nested(text(nil, attributeKey, a.Key), attributeValue, text(nil, valueString, a.Value))
}

func nested(b []byte, field protowire.Number, inner []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), inner)
}

// text appends a string as the protocol wants it: valid UTF-8, and of a bounded length.
func text(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), clean(s))
}
