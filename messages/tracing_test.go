package messages_test

import (
	"fmt"
	"testing"
	"troupe/messages/tracing"
)

const sampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestTraceParentsAreParsed(t *testing.T) {
	for header, want := range map[string]string{
		sampled: "0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 false",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00":       "0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 true",
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later": "0af7651916cd43dd8448eb211c80319c b7ad6b7169203331 false",
		"": "", "00-": "",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":       "",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later": "",
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01.later": "",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01":       "",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01":       "",
		"00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01":       "",
		"00_0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331_01":       "",
		"00-0af7651916cd43dd8448eb211c80319x-b7ad6b7169203331-01":       "",
	} {
		c, got := tracing.Parse(header), ""
		if c != (tracing.Context{}) {
			got = fmt.Sprintf("%x %x %v", c.TraceID, c.SpanID, c.Skipped)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", header, got, want)
		}
	}
}

func FuzzTraceParent(f *testing.F) {
	f.Add(sampled)
	f.Add("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x")
	f.Fuzz(func(t *testing.T, header string) {
		if c := tracing.Parse(header); c != (tracing.Context{}) && (c.TraceID == [16]byte{} || c.SpanID == [8]byte{}) {
			t.Errorf("%q: %+v", header, c)
		}
	})
}

func TestSpans(t *testing.T) {
	var ended []*tracing.Span
	tracer := tracing.New(func(s *tracing.Span) { ended = append(ended, s) }, 1)
	caller := tracing.Parse(sampled)
	call := tracer.Start(caller, "call")
	inner := tracer.Start(call.Below(caller), "inner")
	inner.Set("a", "b")
	inner.End("broken")
	call.End("")
	if len(ended) != 2 || ended[0].Parent != call.SpanID || ended[0].TraceID != caller.TraceID || call.Parent != caller.SpanID || call.TraceID != caller.TraceID ||
		ended[0].Error != "broken" || ended[0].SpanID == call.SpanID || len(ended[0].Attributes) != 1 {
		t.Errorf("%+v", ended)
	}
	if s := tracer.Start(tracing.Context{}, "root"); s.TraceID == [16]byte{} || s.Parent != [8]byte{} {
		t.Errorf("%+v", s)
	}
	skipped := tracing.Context{TraceID: caller.TraceID, SpanID: caller.SpanID, Skipped: true}
	var none *tracing.Tracer
	for _, s := range []*tracing.Span{tracer.Start(skipped, "x"), none.Start(caller, "x")} {
		if s != nil {
			t.Errorf("%+v", s)
		}
		s.Set("a", "b")
		s.End("")
		if s.Below(skipped) != skipped {
			t.Error("what is skipped is recorded below")
		}
	}
}

// A trace that begins here is recorded as a whole or not at all, and in the end so is the ratio of all. A caller's own decision counts more.
func TestSamplingIsOfWholeTraces(t *testing.T) {
	const all, ratio = 20_000, 0.25
	ended := map[[16]byte]int{}
	tracer := tracing.New(func(s *tracing.Span) { ended[s.TraceID]++ }, ratio)
	for range all {
		call := tracer.Start(tracing.Context{}, "call")
		below := tracer.Start(call.Below(tracing.Context{}), "placement")
		tracer.Start(below.Below(call.Below(tracing.Context{})), "launch").End("")
		below.End("")
		call.Set("a", "b")
		call.End("")
	}
	for id, n := range ended {
		if n != 3 {
			t.Fatalf("%d of 3 spans of the trace %x", n, id)
		}
	}
	if n := float64(len(ended)) / all; n < ratio-0.02 || n > ratio+0.02 { // 6 standard deviations
		t.Errorf("%.3f of the traces are recorded", n)
	}
	clear(ended)
	for ratio, want := range map[float64]int{0: 0, 1: 100} {
		tracer := tracing.New(func(s *tracing.Span) { ended[s.TraceID]++ }, ratio)
		for range 100 {
			tracer.Start(tracing.Context{}, "call").End("")
		}
		if len(ended) != want {
			t.Errorf("ratio %v: %d of 100", ratio, len(ended))
		}
		clear(ended)
		tracer.Start(tracing.Parse(sampled), "call").End("")
		if len(ended) != 1 {
			t.Errorf("ratio %v: the trace that its caller records is not there", ratio)
		}
		clear(ended)
	}
}
