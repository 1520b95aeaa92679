package counters

import (
	"math"
	"sync/atomic"
	"time"
)

// bucketBounds are upper bounds in seconds: 50 us to 10 min, roughly doubling up to 10 s.
var bucketBounds = [...]float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10, 30, 60, 300, 600}

// Histogram counts durations in fixed buckets. The zero value is ready.
type Histogram struct {
	cells [len(bucketBounds) + 1]atomic.Uint64
	sum   atomic.Uint64 // nanoseconds
}

// Observe counts one duration; a negative one counts as zero.
func (h *Histogram) Observe(d time.Duration) {
	d = max(d, 0)
	s := d.Seconds()
	i := 0
	for i < len(bucketBounds) && s > bucketBounds[i] {
		i++
	}
	h.cells[i].Add(1)
	h.sum.Add(uint64(d))
}

// Snapshot returns the count, the sum and the cumulative count per upper bound, in seconds, as Prometheus wants them.
func (h *Histogram) Snapshot() (count uint64, sum float64, buckets map[float64]uint64) {
	buckets = make(map[float64]uint64, len(bucketBounds))
	for i := range h.cells {
		count += h.cells[i].Load()
		if i < len(bucketBounds) {
			buckets[bucketBounds[i]] = count
		}
	}
	return count, float64(h.sum.Load()) / float64(time.Second), buckets
}

// Cells are how many durations each bucket of a Histogram has counted.
type Cells [len(bucketBounds) + 1]uint64

// Cells returns those of now.
func (h *Histogram) Cells() (c Cells) {
	for i := range h.cells {
		c[i] = h.cells[i].Load()
	}
	return c
}

// Since returns what was counted after an earlier state of the same Histogram.
func (c Cells) Since(earlier Cells) Cells {
	for i := range c {
		c[i] -= earlier[i]
	}
	return c
}

// Count returns the number of durations.
func (c *Cells) Count() (n uint64) {
	for _, one := range c {
		n += one
	}
	return n
}

// Quantile returns the upper bound of the bucket that holds quantile q, in seconds; NaN without durations.
func (c *Cells) Quantile(q float64) float64 {
	count := c.Count()
	if count == 0 {
		return math.NaN()
	}
	want := uint64(math.Ceil(q * float64(count)))
	var seen uint64
	for i, n := range c {
		if seen += n; seen >= want && i < len(bucketBounds) {
			return bucketBounds[i]
		}
	}
	return math.Inf(1)
}
