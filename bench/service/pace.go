package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"troupe/bench/report"
)

// figures are what an open load saw: calls start at their times whether or not others have been answered, and latency
// counts from there.
type figures struct {
	Calls  int64   `json:"calls"`
	Failed int64   `json:"failed"`
	Rate   float64 `json:"rate_per_s"` // answered well
	P50    float64 `json:"p50_ms"`
	P99    float64 `json:"p99_ms"`
	P999   float64 `json:"p999_ms"`
	Max    float64 `json:"max_ms"`
	First  string  `json:"first_error,omitempty"`
}

// clock records latencies. Its methods may be called from any goroutine.
type clock struct {
	mu     sync.Mutex
	h      *hdrhistogram.Histogram
	failed int64
	first  string
	last   time.Time // of the last good one
}

func newClock() *clock {
	return &clock{h: hdrhistogram.New(1, time.Minute.Microseconds(), 3)}
}

// record takes one call that was due at a time.
func (k *clock) record(due time.Time, err error) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		if k.failed++; k.first == "" {
			k.first = err.Error()
		}
		return
	}
	_ = k.h.RecordValue(min(max(1, now.Sub(due).Microseconds()), time.Minute.Microseconds()))
	k.last = now
}

func (k *clock) good() int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.h.TotalCount()
}

func (k *clock) figures(begun time.Time) figures {
	k.mu.Lock()
	defer k.mu.Unlock()
	ms := func(q float64) float64 { return float64(k.h.ValueAtQuantile(q)) / 1000 }
	f := figures{Calls: k.h.TotalCount() + k.failed, Failed: k.failed, First: k.first, P50: ms(50), P99: ms(99), P999: ms(99.9), Max: float64(k.h.Max()) / 1000}
	if took := k.last.Sub(begun); took > 0 {
		f.Rate = float64(k.h.TotalCount()) / took.Seconds()
	}
	return f
}

// pace calls do at a rate for a time, at most workers at once, and waits for all. due is when a call should have begun.
func pace(ctx context.Context, rate float64, d time.Duration, workers int, do func(ctx context.Context, i int, due time.Time)) (begun time.Time) {
	begun = time.Now()
	n := int64(rate * d.Seconds())
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= n {
					return
				}
				due := begun.Add(time.Duration(float64(i) / rate * float64(time.Second)))
				if rest(ctx, time.Until(due)) != nil {
					return
				}
				do(ctx, int(i), due)
			}
		})
	}
	wg.Wait()
	return begun
}

// rest waits, or returns why it did not.
func rest(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spread of the p99 over rounds.
func spreadOf(rounds []figures, of func(figures) float64) report.Spread {
	var all []float64
	for _, f := range rounds {
		all = append(all, of(f))
	}
	return report.SpreadOf(all)
}
