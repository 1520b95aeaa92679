// Command matrix tries each fault of section 7 of docs/spec/reliability.md: by scenarios and plans of troupe faults, by troupe bench
// reconnect-storm, and by Go tests. It prints a table with what it has seen, and for each fault whether the promises hold.
//
// It exits with 1 when one does not hold, and with 2 when it could not find out.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
)

// options is the command line.
type options struct {
	troupe string
	seed   uint64
	only   *regexp.Regexp
	atOnce int
}

func main() {
	var o options
	var only string
	flag.StringVar(&o.troupe, "troupe", "", "troupe binary (required)")
	flag.Uint64Var(&o.seed, "seed", 1, "seed of the plans")
	flag.StringVar(&only, "only", "", "regular expression of the rows to try, such as RL-10[1-3]")
	flag.IntVar(&o.atOnce, "at-once", 3, "runs of troupe faults at a time: most of the time they wait")
	flag.Parse()
	var err error
	if o.only, err = regexp.Compile(only); err == nil && (o.troupe == "" || o.atOnce < 1) {
		err = fmt.Errorf("-troupe is missing, or -at-once is less than 1")
	}
	good := false
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		good, err = run(ctx, o, os.Stdout, os.Stderr)
		stop()
	}
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "matrix:", err)
		os.Exit(2)
	case !good:
		os.Exit(1)
	}
}
