package loadgen

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms count microseconds up to latencyMax with three significant digits. Longer times count as latencyMax.
const (
	latencyMax    = time.Minute
	latencyDigits = 3
	recentDigits  = 1
	shardCount    = 8
)

// window is the recorded part of the load: a half-open interval of intended send times. It is set before the load
// starts. Every reader reads it.
type window struct{ from, to atomic.Int64 }

func (w *window) has(nanos int64) bool { return nanos >= w.from.Load() && nanos < w.to.Load() }

// recorder is one shard of the readers' counters.
type recorder struct {
	mu        sync.Mutex
	latency   *hdrhistogram.Histogram
	recent    *hdrhistogram.Histogram // since the last takeMoment, with less precision
	delivered int64                   // messages with an intended send time inside the window
	received  int64                   // all messages of the swarm
	other     int64                   // packets in this run that are not messages of the swarm; with ToAnything, all packets
	others    int64                   // the same for all runs
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, latencyMax.Microseconds(), latencyDigits)
}

// Histogram is a distribution of times other than the latencies of a swarm's messages. Its methods may be called from
// any goroutine.
type Histogram struct {
	mu sync.Mutex // guards h
	h  *hdrhistogram.Histogram
}

// NewHistogram returns an empty Histogram.
func NewHistogram() *Histogram { return &Histogram{h: newHistogram()} }

// NewRecentHistogram returns an empty Histogram with one significant digit. It takes 2 KiB, so that each moment can
// have its own.
func NewRecentHistogram() *Histogram { return &Histogram{h: newRecent()} }

// Record counts a time. Times above a minute count as a minute.
func (h *Histogram) Record(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	record(h.h, int64(d))
}

// Count returns how many times were recorded.
func (h *Histogram) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return int(h.h.TotalCount())
}

// Quantiles returns the usual quantiles.
func (h *Histogram) Quantiles() Quantiles {
	h.mu.Lock()
	defer h.mu.Unlock()
	return quantilesOf(h.h)
}

// Distribution returns a few dozen points of the cumulative distribution.
func (h *Histogram) Distribution() []Point {
	h.mu.Lock()
	defer h.mu.Unlock()
	return distribution(h.h)
}

// newRecent returns the histogram of one moment. It has less precision because it is often merged and emptied.
func newRecent() *hdrhistogram.Histogram {
	return hdrhistogram.New(1, latencyMax.Microseconds(), recentDigits)
}

// batch is the content of one read: the stamps of the swarm's messages, and the number of other packets. With
// ToAnything, all packets count as other, with or without stamps.
type batch struct {
	stamps [32]int64
	n      int
	other  int64
}

// reset clears the counters of one run.
func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.latency == nil { // allocated lazily: swarms that only join need no histograms
		r.latency, r.recent = newHistogram(), newRecent()
	}
	r.latency.Reset()
	r.recent.Reset()
	r.delivered, r.other = 0, 0
}

// add records a batch that arrived at time now, and empties it.
func (r *recorder) add(b *batch, now int64, w *window) {
	r.mu.Lock()
	for _, stamp := range b.stamps[:b.n] {
		r.received++
		if w.has(stamp) {
			r.delivered++
			record(r.latency, now-stamp)
			record(r.recent, now-stamp)
		}
	}
	r.other += b.other
	r.others += b.other
	r.mu.Unlock()
	b.n, b.other = 0, 0
}

// record counts nanos as microseconds, clamped to the histogram's range.
func record(h *hdrhistogram.Histogram, nanos int64) {
	us := min(max(nanos/int64(time.Microsecond), 0), latencyMax.Microseconds())
	_ = h.RecordValue(us) // in range by construction
}

// Quantiles are the usual quantiles of a distribution.
type Quantiles struct {
	P50  time.Duration `json:"p50"`
	P99  time.Duration `json:"p99"`
	P999 time.Duration `json:"p999"`
	Max  time.Duration `json:"max"`
}

func quantilesOf(h *hdrhistogram.Histogram) Quantiles {
	at := func(q float64) time.Duration { return time.Duration(h.ValueAtQuantile(q)) * time.Microsecond }
	return Quantiles{P50: at(50), P99: at(99), P999: at(99.9), Max: time.Duration(h.Max()) * time.Microsecond}
}

// Point is one point of a cumulative distribution: Share of all messages arrived within Late.
type Point struct {
	Late  time.Duration `json:"late_ns"`
	Share float64       `json:"share"`
}

// distribution returns a few dozen points, which are denser towards the end.
func distribution(h *hdrhistogram.Histogram) (points []Point) {
	if h.TotalCount() == 0 {
		return nil
	}
	for _, q := range tailQuantiles {
		points = append(points, Point{Late: time.Duration(h.ValueAtQuantile(100*q)) * time.Microsecond, Share: q})
	}
	return append(points, Point{Late: time.Duration(h.Max()) * time.Microsecond, Share: 1})
}

// tailQuantiles are 0, 0.025, ... 0.875, then 0.9, ... 0.99, ... 0.999 and so on. Towards 1 the steps become finer with
// each decade.
var tailQuantiles = func() (all []float64) {
	for i := range 36 {
		all = append(all, float64(i)*0.025)
	}
	for decade := 0.1; decade > 1e-5; decade /= 10 {
		for _, part := range []float64{1, 0.8, 0.6, 0.4, 0.3, 0.2, 0.15} {
			all = append(all, 1-decade*part)
		}
	}
	return all
}()
