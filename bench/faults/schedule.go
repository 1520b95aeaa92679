package faults

import (
	"context"
	"errors"
	"slices"
	"time"
)

// schedule runs the events at their times. begin starts a fault and returns a function that ends it, or nil if the
// fault has no length. schedule returns after length, when all faults have ended. If it fails earlier, it ends all
// active faults first.
func schedule(ctx context.Context, events []Event, length time.Duration, begin func(e Event) (end func() error, err error)) (err error) {
	type action struct {
		at time.Duration
		do func() error
	}
	var ends []action // ordered by time
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

// rest waits for d. It returns the error of ctx if ctx ends first.
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

// noticed returns when the last client has noticed that a router has lost its connection. A Rebind fault lasts until
// then.
func (r *run) noticed() (last Duration) {
	for _, e := range r.events {
		if e.Fault == Rebind {
			last = max(last, e.At+Duration(r.silence()))
		}
	}
	return last
}
