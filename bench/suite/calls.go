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

// callers is the maximum number of concurrent calls.
const callers = 128

// calls collects the results of an open-loop load of calls. Each call starts at its scheduled time, whether or not
// earlier calls have been answered. Its latency counts from the scheduled time.
type calls struct {
	from     time.Time // start of the measured part
	latency  *loadgen.Histogram
	lateness *loadgen.Histogram // of the generator itself: delay of the calls that did not have to wait for an earlier one

	mu     sync.Mutex // guards the fields below
	failed int
	first  error
	last   time.Time // end of the last successful call
}

func newCalls(from time.Time) *calls {
	return &calls{from: from, latency: loadgen.NewHistogram(), lateness: loadgen.NewHistogram()}
}

// done records the result of a call that was due at due. A call that was due before the measured part counts only if it
// failed.
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

// pace makes calls with do at the rate of the run and waits for all of them. due is when a call should have started.
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

// called measures service API calls on a host, or on the processes of a cluster: their latencies and errors, and the
// resources that the processes needed.
func (r *run) called(ctx context.Context, procs []*server.Process, do func(ctx context.Context, k *calls)) (round result.Round, err error) {
	m := r.meter(procs[0], nil)
	m.beside = procs[1:]
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

// apis are clients for the service API of several hosts.
type apis []*server.API

// apisOf returns clients for all hosts among the processes.
func apisOf(procs []*server.Process) (all apis) {
	for _, p := range procs {
		if p.Spec.Kind == server.Troupe {
			all = append(all, p.API(callers))
		}
	}
	return all
}

// call performs one operation on the next host in turn.
func (a apis) call(ctx context.Context, turn int, operation string, in, out any) error {
	return a[turn%len(a)].Call(ctx, operation, in, out)
}

func (a apis) close() {
	for _, one := range a {
		one.Close()
	}
}
