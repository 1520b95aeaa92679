package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
)

// MatrixOptions say which rows of the fault matrix to try, and how.
type MatrixOptions struct {
	Bin    string         // this program
	Seed   uint64         // of the plans
	Only   *regexp.Regexp // rows to try
	AtOnce int            // runs at a time, at least 1: most of the time they wait
	Log    io.Writer      // is told of each run that ends
}

// line is one line of the table.
type line struct {
	plan   Plan
	report *Report // nil: nothing was judged
	why    string  // no report; empty: there is one
}

// RunMatrix tries each row by the plans that it has, each in a process of its own, and prints a table. It returns false if a promise, or a
// figure of the specification, does not hold.
func RunMatrix(ctx context.Context, o MatrixOptions, out io.Writer) (good bool, err error) {
	dir, err := os.MkdirTemp("", "troupe-matrix-")
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var lines []line
	for _, p := range Matrix() {
		if o.Only.MatchString(p.Row) {
			lines = append(lines, line{plan: p})
		}
	}
	if len(lines) == 0 {
		return false, errors.New("no row has that name")
	}
	var work sync.WaitGroup
	var logs sync.Mutex
	slots := make(chan struct{}, o.AtOnce)
	for i := range lines {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			l := &lines[i]
			l.try(ctx, o, filepath.Join(dir, l.plan.Name+".json"))
			logs.Lock()
			defer logs.Unlock()
			fmt.Fprintf(o.Log, "%s %s: %s\n", l.plan.Row, l.plan.Name, l.outcome())
		})
	}
	work.Wait()
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	return printMatrix(out, lines), nil
}

// try runs the plan.
func (l *line) try(ctx context.Context, o MatrixOptions, file string) {
	text, failed := exec.CommandContext(ctx, o.Bin, "faults", "run", l.plan.Name, "--seed", strconv.FormatUint(o.Seed, 10), "--json", file).CombinedOutput()
	report, err := Read(file)
	if err != nil {
		said := strings.Split(strings.TrimSpace(string(text)), "\n")
		l.why = fmt.Sprintf("%v: %s", failed, said[len(said)-1])
		return
	}
	l.report = &report
}

func (l *line) outcome() string {
	if l.report == nil || l.report.Broken() {
		return broken
	}
	return holds
}

// printMatrix prints the table, and below it what does not hold.
func printMatrix(w io.Writer, lines []line) (good bool) {
	good = true
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ROW\tVERDICT\tPLAN\tSENT\tDELIVERED\tLOST\tTWICE\tRESUMES\tFAILED\tP50 ms\tP99 ms\tMAX ms\tCALLBACKS\tRESTARTS\tMiB\tGOROUTINES")
	var below []string
	for i := range lines {
		l := &lines[i]
		fmt.Fprintf(t, "%s\t%s\t%s", l.plan.Row, l.outcome(), l.plan.Name)
		good = good && l.outcome() == holds
		if l.report == nil {
			fmt.Fprintln(t)
			below = append(below, fmt.Sprintf("%s %s: %s", l.plan.Row, l.plan.Name, l.why))
			continue
		}
		f := &l.report.Figures
		fmt.Fprintf(t, "\t%d\t%d\t%d\t%d\t%d\t%d\t%.0f\t%.0f\t%.0f\t%d\t%d\t%.0f\t%d\n", f.Sent, f.Delivered, f.Lost, f.Duplicated, f.Resumes, f.ResumesFailed,
			f.ReattachP50Ms, f.ReattachP99Ms, f.ReattachMaxMs, f.WrongCallbacks, f.Restarts, f.HostMiB, f.Goroutines)
		for _, v := range l.report.Verdicts {
			if v.Outcome == broken {
				below = append(below, fmt.Sprintf("%s %s: %s (%s): %s", l.plan.Row, l.plan.Name, v.Promise, v.Invariant, v.Detail))
			}
		}
	}
	_ = t.Flush() // w has the error too, if it keeps it
	for _, text := range below {
		fmt.Fprintln(w, text)
	}
	return good
}
