package placement

import (
	"cmp"
	"slices"
	"time"

	"troupe/messages"
)

// measured holds the latencies that a request's players reported for one location.
type measured struct {
	mean float64 // mean over the players that reported a latency (D-228)
	most float64
}

// summarize computes the mean and the maximum for each location. Only the last report of a player for a location
// counts. Otherwise the order of the reports has no effect.
func summarize(reports []messages.PlayerLatency) map[string]measured {
	type report struct {
		player   messages.PlayerID
		location string
	}
	last := make(map[report]float64, len(reports))
	for _, r := range reports {
		last[report{r.PlayerID, r.Location}] = float64(r.Latency)
	}
	values := make(map[string][]float64)
	for r, v := range last {
		values[r.location] = append(values[r.location], v)
	}
	summary := make(map[string]measured, len(values))
	for location, vs := range values {
		slices.Sort(vs) // the sum of floats depends on their order, so sort them first
		sum := 0.0
		for _, v := range vs {
			sum += v
		}
		summary[location] = measured{sum / float64(len(vs)), vs[len(vs)-1]}
	}
	return summary
}

// latencyCap returns the latency limit at the time t after the start (service-api.md 3.2). capped is false if there is
// no limit. left is how long the limit still applies; 0 means until the timeout.
func latencyCap(policies []messages.LatencyPolicy, t time.Duration) (ms int, left time.Duration, capped bool) {
	policies = slices.Clone(policies)
	slices.SortStableFunc(policies, func(a, b messages.LatencyPolicy) int { return cmp.Compare(a.Max, b.Max) })
	for _, p := range policies {
		if p.Duration <= 0 || t < p.Duration {
			return p.Max, max(p.Duration-t, 0), true
		}
		t -= p.Duration
	}
	return 0, 0, false
}
