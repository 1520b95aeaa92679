package placement

import (
	"cmp"
	"slices"
	"time"

	"troupe/messages"
)

// measured is the latency that the players of a request reported for one location.
type measured struct {
	mean float64 // over the players who reported it (D-228)
	most float64
}

// summarize computes mean and maximum by location. The last report of a player for a location counts; their order has no other effect.
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
		slices.Sort(vs) // the sum of floats depends on their order
		sum := 0.0
		for _, v := range vs {
			sum += v
		}
		summary[location] = measured{sum / float64(len(vs)), vs[len(vs)-1]}
	}
	return summary
}

// latencyCap returns the latency limit, if any, at t after the start (service-api.md 3.2). Left is for how long; 0: until the timeout.
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
