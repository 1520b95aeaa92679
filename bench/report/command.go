package report

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Main runs a benchmark until it is done, or ended by a signal, and ends the process: with 1 if a bar is missed, with 2 if it could
// not measure.
func Main(name string, run func(context.Context) (met bool, err error)) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	met, err := run(ctx)
	stop()
	switch {
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", name, err)
		os.Exit(2)
	case !met:
		os.Exit(1)
	}
}

// Bars are the bars of a run.
type Bars []Bar

// Add adds one.
func (b *Bars) Add(name string, limit, got float64, met bool) {
	*b = append(*b, Bar{Name: name, Limit: limit, Got: got, Met: met})
}

// Met reports whether all of them are met.
func (b Bars) Met() bool { return !slices.ContainsFunc(b, func(b Bar) bool { return !b.Met }) }
