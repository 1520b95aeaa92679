package loadgen

import (
	"testing"
	"time"
)

func TestRecorderCountsByIntendedTime(t *testing.T) {
	t.Parallel()
	var w window
	w.from.Store(int64(time.Second))
	w.to.Store(int64(2 * time.Second))
	a, b := recorder{latency: newHistogram(), recent: newRecent()}, recorder{latency: newHistogram(), recent: newRecent()}
	in := batch{other: 1}
	for _, ms := range []int{999, 1000, 1999, 2000} {
		in.stamps[in.n] = int64(ms) * int64(time.Millisecond)
		in.n++
	}
	a.add(&in, int64(2100*time.Millisecond), &w)
	if in.n != 0 || in.other != 0 {
		t.Error("batch not emptied")
	}
	in.stamps[0], in.n = int64(1500*time.Millisecond), 1
	b.add(&in, int64(time.Hour), &w) // longer than the histogram's maximum
	var res Result
	h := newHistogram()
	a.mergeInto(&res, h)
	b.mergeInto(&res, h)
	if res.Delivered != 3 || res.Other != 1 || a.received+b.received != 5 {
		t.Errorf("delivered %d, other %d, received %d", res.Delivered, res.Other, a.received+b.received)
	}
	q := quantilesOf(h)
	if near(q.P50, 1100*time.Millisecond) && near(q.Max, latencyMax) {
		return
	}
	t.Errorf("quantiles %v", q)
}

// near allows for the histogram's precision of three digits.
func near(got, want time.Duration) bool { return (got - want).Abs() <= want/500 }
