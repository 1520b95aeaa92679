package loadgen

import (
	"runtime/metrics"
	"time"
)

// Waits measures how long goroutines of this process have waited for a processor since it was created. It replaces the
// lateness of a generator that works as fast as it can and therefore has no due times.
type Waits struct{ before []uint64 }

// NewWaits starts a measurement.
func NewWaits() *Waits {
	counts, _ := waits()
	return &Waits{counts}
}

// P99 returns the 99th percentile of the waits.
func (w *Waits) P99() time.Duration {
	counts, begins := waits()
	return p99(w.before, counts, begins)
}

// p99 returns the lower bound of the bucket that contains the 99th percentile of the waits between two readings.
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

// waits returns the runtime's counts by bucket, and the lower bound of each bucket.
func waits() (counts []uint64, begins []float64) {
	sample := []metrics.Sample{{Name: "/sched/latencies:seconds"}}
	metrics.Read(sample)
	h := sample[0].Value.Float64Histogram()
	return h.Counts, h.Buckets
}
