package suite

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"troupe/bench/loadgen"
	"troupe/bench/result"
	"troupe/bench/server"
)

// callers is how many calls are under way at most.
const callers = 128

// calls are those of an open load: each begins at its time whether or not others have been answered, and latency counts from
// that time.
type calls struct {
	from     time.Time // of the measured part
	latency  *loadgen.Histogram
	lateness *loadgen.Histogram // of the generator: of calls that it had time to wait for

	mu     sync.Mutex // guards what follows
	failed int
	first  error
	last   time.Time // of the last good one
}

func newCalls(from time.Time) *calls {
	return &calls{from: from, latency: loadgen.NewHistogram(), lateness: loadgen.NewHistogram()}
}

// done takes a call that was due at a time. What was due before the measured part does not count, unless it failed.
func (k *calls) done(due time.Time, err error) {
	now := time.Now()
	if err == nil && !due.Before(k.from) {
		k.latency.Record(now.Sub(due))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.last = now
	} else if k.failed++; k.first == nil {
		k.first = err
	}
}

// pace calls do at the rate of the run, and waits for all. due is when a call should have begun.
func (r *run) pace(ctx context.Context, k *calls, do func(ctx context.Context, i int, due time.Time)) {
	begun := k.from.Add(-r.p.Warmup)
	n := int64(r.p.Rate * (r.p.Warmup + r.p.Measure).Seconds())
	var next atomic.Int64
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if i >= n {
					return
				}
				due := begun.Add(time.Duration(float64(i) / r.p.Rate * float64(time.Second)))
				if wait := time.Until(due); wait > 0 {
					if rest(ctx, wait) != nil {
						return
					}
					k.lateness.Record(time.Since(due))
				}
				do(ctx, int(i), due)
			}
		})
	}
	wg.Wait()
}

// called measures calls on a host: what they saw, and what they cost it.
func (r *run) called(ctx context.Context, proc *server.Process, do func(ctx context.Context, k *calls)) (round result.Round, err error) {
	m := r.meter(proc, nil)
	k := newCalls(time.Now().Add(r.p.Warmup))
	began := make(chan error, 1)
	go func() {
		err := rest(ctx, r.p.Warmup)
		if err == nil {
			err = m.read(&m.start)
		}
		began <- err
	}()
	do(ctx, k)
	if err := <-began; err != nil {
		return round, err
	}
	if err := m.read(&m.end); err != nil {
		return round, err
	}
	round.Figures = m.figures()
	latency := k.latency.Quantiles()
	load := loadgen.Result{Delivered: int64(k.latency.Count()), Latency: latency, Lateness: k.lateness.Quantiles(), Detail: &loadgen.Detail{Distribution: k.latency.Distribution()}}
	addLatencies(&round, &load)
	if why, bound := isBound(&load); bound {
		r.provesNothing("%s", why)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	f := round.Figures
	f.Set("failed", float64(k.failed))
	f.Set("calls_per_s", float64(load.Delivered)/k.last.Sub(k.from).Seconds())
	f.Set("cpu_call_us", float64(m.cpu())/float64(time.Microsecond)/float64(load.Delivered))
	if k.first != nil {
		r.warn("%d calls failed, the first: %v", k.failed, k.first)
	}
	return round, ctx.Err()
}
