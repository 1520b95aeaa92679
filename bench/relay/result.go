package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/report"
)

// noisyShare is how much of the machine others may use before a result is called noisy.
const noisyShare = 0.05

// result is what is stored.
type result struct {
	Machine report.Machine `json:"machine"`
	Command string         `json:"command"`
	Config  config         `json:"config"`
	Servers []summary      `json:"servers"` // the first is the yardstick
	Bars    report.Bars    `json:"bars"`
}

// summary is one server over all rounds. Latency points are medians of the rounds', except Max, the greatest.
type summary struct {
	Server               string            `json:"server"`
	Build                string            `json:"build"`
	CPUMicros            report.Spread     `json:"cpu_us_per_delivered"`
	Ratio                report.Spread     `json:"ratio_to_bare"` // of the two in the same round
	MallocsPerDelivered  report.Spread     `json:"mallocs_per_delivered"`
	MallocsPerInbound    report.Spread     `json:"mallocs_per_inbound"`
	SwitchesPerDelivered report.Spread     `json:"context_switches_per_delivered"`
	Latency              loadgen.Quantiles `json:"latency_ns"`
	Delivered            int64             `json:"delivered"`
	Expected             int64             `json:"expected"`
	Rounds               []sample          `json:"rounds"`
}

func spread(rounds []sample, f func(sample) float64) report.Spread {
	values := make([]float64, len(rounds))
	for i, s := range rounds {
		values[i] = f(s)
	}
	return report.SpreadOf(values)
}

func (r *result) summarise(o options) {
	bare := r.Servers[0].Rounds
	for i := range r.Servers {
		r.Servers[i].fill(bare)
	}
	if o.troupe == "" {
		return
	}
	s := r.Servers[len(r.Servers)-1]
	delivered := report.SpreadOf([]float64{per(float64(s.Delivered), s.Expected)})
	r.Bars = []report.Bar{
		{Name: "CPU per delivered message, ratio to " + r.Servers[0].Server, Limit: o.barRatio, Got: s.Ratio.Median,
			Met: s.Ratio.Known() && s.Ratio.Median <= o.barRatio},
		{Name: "allocations per delivered message", Limit: o.barAllocs, Got: s.MallocsPerDelivered.Median,
			Met: s.MallocsPerDelivered.Known() && s.MallocsPerDelivered.Median < o.barAllocs},
		{Name: "delivered of expected", Limit: 1, Got: delivered.Median, Met: delivered.Median == 1},
	}
}

func (s *summary) fill(bare []sample) {
	s.CPUMicros = spread(s.Rounds, sample.cpuMicros)
	s.MallocsPerDelivered = spread(s.Rounds, sample.mallocsPerDelivered)
	s.MallocsPerInbound = spread(s.Rounds, sample.mallocsPerInbound)
	s.SwitchesPerDelivered = spread(s.Rounds, sample.switchesPerDelivered)
	ratios := make([]float64, len(s.Rounds))
	for i, round := range s.Rounds {
		ratios[i] = round.cpuMicros() / bare[i].cpuMicros()
		s.Delivered += round.Load.Delivered
		s.Expected += round.Load.Expected
	}
	s.Ratio = report.SpreadOf(ratios)
	s.Latency = latencyOf(s.Rounds)
}

// latencyOf takes each point's median over the rounds, and the greatest maximum.
func latencyOf(rounds []sample) loadgen.Quantiles {
	point := func(f func(loadgen.Quantiles) time.Duration) report.Spread {
		return spread(rounds, func(s sample) float64 { return float64(f(s.Load.Latency)) })
	}
	return loadgen.Quantiles{
		P50:  time.Duration(point(func(q loadgen.Quantiles) time.Duration { return q.P50 }).Median),
		P99:  time.Duration(point(func(q loadgen.Quantiles) time.Duration { return q.P99 }).Median),
		P999: time.Duration(point(func(q loadgen.Quantiles) time.Duration { return q.P999 }).Median),
		Max:  time.Duration(point(func(q loadgen.Quantiles) time.Duration { return q.Max }).Max),
	}
}

// print writes the table, the bars and the warnings.
func (r *result) print(w io.Writer) {
	c := r.Config
	fmt.Fprintln(w, r.Machine)
	fmt.Fprintf(w, "load: %d rooms of %d players at %g Hz, payload %d bytes; %d rounds of %v after %v\n",
		c.Rooms, c.Players, c.Hz, c.Payload, c.Rounds, c.Measure, c.Warmup)
	for _, s := range r.Servers {
		fmt.Fprintf(w, "server: %s, %s\n", s.Server, s.Build)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	r.row(t, "", func(s summary) string { return s.Server })
	r.row(t, "CPU us per delivered", func(s summary) string { return s.CPUMicros.Format(2) })
	r.row(t, "ratio to the first", func(s summary) string { return s.Ratio.Format(3) })
	r.row(t, "allocations per delivered", func(s summary) string { return s.MallocsPerDelivered.Format(4) })
	r.row(t, "allocations per inbound", func(s summary) string { return s.MallocsPerInbound.Format(4) })
	r.row(t, "context switches per delivered", func(s summary) string { return s.SwitchesPerDelivered.Format(3) })
	r.row(t, "latency", func(s summary) string { return s.Latency.String() })
	r.row(t, "delivered / expected", func(s summary) string { return fmt.Sprintf("%d / %d", s.Delivered, s.Expected) })
	_ = t.Flush()
	for _, b := range r.Bars {
		fmt.Fprintln(w, b)
	}
	r.warn(w)
}

func (r *result) row(w io.Writer, name string, cell func(summary) string) {
	fmt.Fprint(w, name)
	for _, s := range r.Servers {
		fmt.Fprint(w, "\t", cell(s))
	}
	fmt.Fprintln(w)
}

// warn names what makes a result doubtful.
func (r *result) warn(w io.Writer) {
	for _, s := range r.Servers {
		other := spread(s.Rounds, func(x sample) float64 { return x.OtherShare }).Max
		steal := spread(s.Rounds, func(x sample) float64 { return x.StealShare }).Max
		late := spread(s.Rounds, func(x sample) float64 { return float64(x.Load.Lateness.P99) }).Max
		if other > noisyShare || steal > noisyShare {
			fmt.Fprintf(w, "warning: %s: noisy machine, up to %.1f%% used by others and %.1f%% stolen\n",
				s.Server, 100*other, 100*steal)
		}
		if late > float64(5*time.Millisecond) {
			fmt.Fprintf(w, "warning: %s: the generator was up to %v late (p99)\n", s.Server, time.Duration(late))
		}
		for _, x := range s.Rounds {
			if x.ServerDelivered >= 0 && differs(x.ServerDelivered, x.Received) {
				fmt.Fprintf(w, "warning: %s: the server counts %d delivered, the clients %d\n",
					s.Server, x.ServerDelivered, x.Received)
			}
		}
	}
}

// differs allows one per cent: the two are not read at the same instant.
func differs(a, b int64) bool { return a > b+b/100 || b > a+a/100 }
