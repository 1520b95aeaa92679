package loadgen

import (
	"testing"
	"time"
)

// The slowest hundredth of the waits is ignored, and so are the waits before the measurement.
func TestP99(t *testing.T) {
	t.Parallel()
	begins := []float64{0, 0.001, 0.01, 0.1}
	before := []uint64{5, 0, 1000, 7}
	for _, c := range []struct {
		after []uint64
		want  time.Duration
	}{
		{[]uint64{5, 0, 1000, 7}, 0},
		{[]uint64{105, 0, 1000, 7}, 0},
		{[]uint64{5, 99, 1000, 8}, time.Millisecond},
		{[]uint64{5, 98, 1000, 9}, 100 * time.Millisecond},
		{[]uint64{5, 98, 1001, 8}, 10 * time.Millisecond},
		{[]uint64{5, 0, 1000, 8}, 100 * time.Millisecond},
	} {
		if got := p99(before, c.after, begins); got != c.want {
			t.Errorf("%v after %v: %v, want %v", c.after, before, got, c.want)
		}
	}
	if counts, begins := waits(); len(counts) == 0 || len(begins) <= len(counts) {
		t.Errorf("the runtime tells %d counts and %d bounds", len(counts), len(begins))
	}
}
