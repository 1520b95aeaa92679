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
	return p99(w.before, counts, begins)
}

// p99 is where the bucket begins that the last but one hundredth of the waits between two readings fell into.
func p99(before, after []uint64, begins []float64) time.Duration {
	total := uint64(0)
	for i := range after {
		total += after[i] - before[i]
	}
	above := total / 100
	for i := len(after) - 1; i >= 0; i-- {
		n := after[i] - before[i]
		if n > above {
			return time.Duration(begins[i] * float64(time.Second))
		}
		above -= n
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
