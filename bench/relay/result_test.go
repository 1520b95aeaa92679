package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"troupe/bench/loadgen"
)

// round makes a sample of 1000 delivered messages that cost so many microseconds and allocations each.
func round(cpuMicros, mallocs float64) sample {
	return sample{
		System: time.Duration(cpuMicros * 1000 * float64(time.Microsecond)), Received: 1000, Sent: 125,
		Mallocs: int64(mallocs * 1000), ServerDelivered: 1000,
		Load: loadgen.Result{Delivered: 1000, Expected: 1000},
	}
}

func TestBars(t *testing.T) {
	t.Parallel()
	o := options{troupe: "x", barRatio: 1.25, barAllocs: 0.01}
	for name, c := range map[string]struct {
		change func(*sample)
		met    string // one letter per bar: ratio, allocations, delivered
	}{
		"all met":          {func(*sample) {}, "yyy"},
		"too dear":         {func(s *sample) { s.System *= 2 }, "nyy"},
		"too many mallocs": {func(s *sample) { s.Mallocs = 10 }, "yny"},
		"unknown mallocs":  {func(s *sample) { s.Mallocs = -1 }, "yny"},
		"one lost":         {func(s *sample) { s.Load.Delivered-- }, "yyn"},
		"nothing at all":   {func(s *sample) { *s = sample{} }, "nnn"},
	} {
		troupe := []sample{round(12, 0.001), round(12, 0.001), round(12, 0.001)}
		for i := range troupe {
			c.change(&troupe[i])
		}
		r := result{Servers: []summary{{Rounds: []sample{round(10, 0.1), round(11, 0.1), round(9, 0.1)}}, {Rounds: troupe}}}
		r.summarise(o)
		got := ""
		for _, b := range r.Bars {
			got += map[bool]string{true: "y", false: "n"}[b.Met]
		}
		if got != c.met || r.Bars.Met() != (c.met == "yyy") {
			t.Errorf("%s: bars %s, want %s: %v", name, got, c.met, r.Bars)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPrintWarns(t *testing.T) {
	t.Parallel()
	noisy := round(10, 0.1)
	noisy.OtherShare, noisy.ServerDelivered = 0.4, 900
	noisy.Load.Lateness.P99 = time.Second
	r := result{Servers: []summary{{Server: "bare", Rounds: []sample{noisy}}}}
	r.summarise(options{})
	var out strings.Builder
	r.print(&out)
	for _, want := range []string{"noisy machine, up to 40.0%", "generator was up to 1s late", "counts 900 delivered, the clients 1000"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if !r.Bars.Met() {
		t.Error("without bars none can be missed")
	}
}
