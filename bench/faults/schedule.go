package faults

import (
	"context"
	"errors"
	"slices"
	"time"
)

// schedule begins events at their times, and ends those that have a length: begin returns nil, or what ends the fault. All of them are
// over when it returns, after the length of the plan.
func schedule(ctx context.Context, events []Event, length time.Duration, begin func(e Event) (end func() error, err error)) (err error) {
	type action struct {
		at time.Duration
		do func() error
	}
	var ends []action // by time
	defer func() {
		for _, a := range ends {
			err = errors.Join(err, a.do())
		}
	}()
	began := time.Now()
	until := func(at time.Duration) error {
		for len(ends) > 0 && ends[0].at <= at {
			next := ends[0]
			if err := rest(ctx, time.Until(began.Add(next.at))); err != nil {
				return err
			}
			ends = ends[1:]
			if err := next.do(); err != nil {
				return err
			}
		}
		return rest(ctx, time.Until(began.Add(at)))
	}
	for _, e := range events {
		if err := until(time.Duration(e.At)); err != nil {
			return err
		}
		end, err := begin(e)
		if err != nil {
			return err
		}
		if end != nil {
			a := action{time.Duration(e.At + e.For), end}
			at, _ := slices.BinarySearchFunc(ends, a, func(x, y action) int { return int(x.at - y.at) })
			ends = slices.Insert(ends, at, a)
		}
	}
	return until(length)
}

// rest waits, or fails with the context.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// noticed is when the last client has noticed that a router has forgotten its connection: until then that fault is not over.
func (r *run) noticed() (last Duration) {
	for _, e := range r.events {
		if e.Fault == Rebind {
			last = max(last, e.At+Duration(r.silence()))
		}
	}
	return last
}
