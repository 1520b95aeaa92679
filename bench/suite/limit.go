package suite

import (
	"slices"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
)

// limit says why figures of a subject may be worse than the server is.
type limit struct {
	why     string
	figures []string
}

// asFastAsItCan looks whether the generator was the limit of what it did as fast as it could: each of it took so long (p99), and the
// generator waited so long for a processor of its own (p99).
func (r *run) asFastAsItCan(took, waited time.Duration, figures ...string) {
	why, bound := isBound(&loadgen.Result{Delivered: 1, Latency: loadgen.Quantiles{P99: took}, Lateness: loadgen.Quantiles{P99: waited}})
	if !bound {
		return
	}
	r.warn("%s, so joins or reconnects of the server may be faster", why)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.limits == nil {
		r.limits = make(map[string]limit)
	}
	r.limits[r.now] = limit{why, figures}
}

// excuseMissed takes back the verdict on goals that are missed while the generator was the limit. It makes such figures only worse, so
// those that hold do hold.
func (r *run) excuseMissed(res *result.Result) {
	for i, v := range res.Goals {
		if l := r.limits[v.Subject]; v.Measured && !v.Holds && slices.Contains(l.figures, v.Figure) {
			res.Goals[i] = result.Unproven(v.Goal, l.why)
		}
	}
}
