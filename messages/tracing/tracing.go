package tracing

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"time"
)

// Context names a span. The zero value names none.
type Context struct {
	TraceID [16]byte
	SpanID  [8]byte
	// Skipped says that who made the span does not record the trace; neither does the host then, and so it is with what is below.
	Skipped bool
}

// Parse reads a traceparent header (W3C Trace Context, 3.2). A header that is not valid is as none, as section 4.3 says.
func Parse(header string) (c Context) {
	const length = len("00-") + 32 + 1 + 16 + 1 + 2
	if len(header) < length || header[:2] == "ff" || header[:2] == "00" && len(header) != length || len(header) > length && header[length] != '-' {
		return Context{}
	}
	version, flags := make([]byte, 1), make([]byte, 1)
	for _, part := range []struct {
		to   []byte
		text string
	}{{version, header[:2]}, {c.TraceID[:], header[3:35]}, {c.SpanID[:], header[36:52]}, {flags, header[53:55]}} {
		if _, err := hex.Decode(part.to, []byte(part.text)); err != nil || strings.ToLower(part.text) != part.text {
			return Context{}
		}
	}
	if header[2] != '-' || header[35] != '-' || header[52] != '-' || c.TraceID == [16]byte{} || c.SpanID == [8]byte{} {
		return Context{}
	}
	c.Skipped = flags[0]&1 == 0
	return c
}

type contextKey struct{}

// With returns a context with the span that what follows belongs to.
func With(ctx context.Context, c Context) context.Context {
	return context.WithValue(ctx, contextKey{}, c)
}

// From returns the span that a context belongs to.
func From(ctx context.Context) Context {
	c, _ := ctx.Value(contextKey{}).(Context)
	return c
}

// Tracer makes spans. It may be used by any goroutine. A nil Tracer makes none.
type Tracer struct {
	record func(*Span)
	below  uint64 // a trace whose id is below this one is recorded
}

// New returns a Tracer that passes each ended span to record, which must not block. Of the traces that begin here it
// records the part ratio, from 0 to 1; of others, those that the caller records.
func New(record func(*Span), ratio float64) *Tracer {
	return &Tracer{record, uint64(ratio * (1 << 63))}
}

// Span is one piece of work. It has one owner, until End passes it on. A nil Span does nothing, and a Skipped one
// only tells those below it not to be recorded either.
type Span struct {
	Context
	Parent     [8]byte // zero: none
	Name       string
	Server     bool // the answer to a call from outside
	Began      time.Time
	Ended      time.Time
	Attributes []Attribute
	Error      string // empty: it has succeeded
	tracer     *Tracer
}

// Attribute is a property of a span.
type Attribute struct{ Key, Value string }

// Start begins a span below another one, or a trace if parent is zero.
func (t *Tracer) Start(parent Context, name string) *Span {
	if t == nil || parent.Skipped {
		return nil
	}
	s := &Span{Context: parent, Parent: parent.SpanID, Name: name, Began: time.Now(), tracer: t}
	if parent.TraceID == [16]byte{} {
		_, _ = rand.Read(s.TraceID[:])                                   // never fails
		s.Skipped = binary.BigEndian.Uint64(s.TraceID[8:])>>1 >= t.below // as the TraceIdRatioBased of OpenTelemetry's libraries
	}
	_, _ = rand.Read(s.SpanID[:])
	return s
}

// Below returns what spans below s have as their parent: s, or, if s is nil, its own parent.
func (s *Span) Below(parent Context) Context {
	if s == nil {
		return parent
	}
	return s.Context
}

// Set adds an attribute.
func (s *Span) Set(key, value string) {
	if s != nil && !s.Skipped && value != "" {
		s.Attributes = append(s.Attributes, Attribute{key, value})
	}
}

// End ends the span with an error, empty for none. The span must not be used afterwards.
func (s *Span) End(failed string) {
	if s == nil || s.Skipped {
		return
	}
	s.Ended, s.Error = time.Now(), failed
	s.tracer.record(s)
}
