package suite

import (
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
)

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// addLatencies adds what the players saw of a load.
func addLatencies(round *result.Round, load *loadgen.Result) {
	f := round.Figures
	if load.Expected > 0 {
		f.Set("delivered_share", float64(load.Delivered)/float64(load.Expected))
	}
	if load.Delivered > 0 {
		f.Set("p50_ms", ms(load.Latency.P50))
		f.Set("p99_ms", ms(load.Latency.P99))
		if load.Delivered >= 1000 {
			f.Set("p999_ms", ms(load.Latency.P999))
		}
		f.Set("max_ms", ms(load.Latency.Max))
	}
	if load.Detail == nil {
		return
	}
	for _, p := range load.Detail.Distribution {
		if p.Share < 1 && (1-p.Share)*float64(load.Delivered) < 1 {
			continue // there was no message so rare
		}
		round.Latency = append(round.Latency, result.Point{Ms: ms(p.Late), Share: p.Share})
	}
	for _, t := range load.Detail.Timeline {
		round.Timeline = append(round.Timeline, result.Moment{At: t.At.Seconds(), PerSecond: t.PerSecond, P50: ms(t.Latency.P50), P99: ms(t.Latency.P99)})
	}
}

// isBound reports whether the load tells about its generator and not about the server, and why.
func isBound(load *loadgen.Result) (why string, bound bool) {
	switch late := load.Lateness.P99; {
	case load.Due > 0 && float64(load.Sent) < sentMin*float64(load.Due):
		return "the generator sent only " + percent(load.Sent, load.Due) + " of what was due", true
	case late > lateMax && load.Delivered > 0 && load.Latency.P99 < lateShare*late: // without latencies there are none to be spoilt
		return "the generator was up to " + late.Round(100*time.Microsecond).String() + " late (p99)", true
	}
	return "", false
}
