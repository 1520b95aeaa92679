package counters

import (
	"math"
	"sync/atomic"
	"time"
)

// bucketBounds are the upper bounds of the buckets, in seconds. They range from 50 us to 10 min and roughly double up
// to 10 s.
var bucketBounds = [...]float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2.5e-3, 5e-3, 10e-3, 25e-3, 50e-3, 100e-3, 250e-3, 500e-3, 1, 2.5, 5, 10, 30, 60, 300, 600}

// Histogram counts durations in fixed buckets. The zero value is ready to use.
type Histogram struct {
	cells [len(bucketBounds) + 1]atomic.Uint64
	sum   atomic.Uint64 // nanoseconds
}

// Observe counts one duration. A negative duration counts as zero.
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

// Snapshot returns the count, the sum in seconds, and the cumulative count for each upper bound in seconds, as
// Prometheus expects them.
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

// Cells holds the number of durations in each bucket of a Histogram.
type Cells [len(bucketBounds) + 1]uint64

// Cells returns the current numbers.
func (h *Histogram) Cells() (c Cells) {
	for i := range h.cells {
		c[i] = h.cells[i].Load()
	}
	return c
}

// Since returns the numbers counted after an earlier state of the same Histogram.
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

// Quantile returns the upper bound, in seconds, of the bucket that contains the quantile q. It returns NaN if there are
// no durations.
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
