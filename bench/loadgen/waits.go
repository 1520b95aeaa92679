package loadgen

import (
	"runtime/metrics"
	"time"
)

// Waits tells how long goroutines of this process have waited for a processor since it was made. It is the lateness of a generator that
// does something as fast as it can, so that nothing is due at a time.
type Waits struct{ before []uint64 }

// NewWaits begins now.
func NewWaits() *Waits {
	counts, _ := waits()
	return &Waits{counts}
}

// P99 is up to which time all but one in a hundred waits lasted.
func (w *Waits) P99() time.Duration {
	counts, begins := waits()
	total := uint64(0)
	for i := range counts {
		counts[i] -= w.before[i]
		total += counts[i]
	}
	above := total / 100
	for i := len(counts) - 1; i >= 0; i-- {
		if counts[i] > above {
			return time.Duration(begins[i] * float64(time.Second))
		}
		above -= counts[i]
	}
	return 0
}

// waits are the runtime's counts, and where the bucket of each begins.
func waits() (counts []uint64, begins []float64) {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	h := sample[0].Value.Float64Histogram()
	return h.Counts, h.Buckets
}
