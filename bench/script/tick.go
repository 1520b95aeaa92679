package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"troupe/bench/server"
)

// tickResult is how late the scripts say that they ticked.
type tickResult struct {
	Ticks   int64   `json:"ticks"`
	PerHz   float64 `json:"hz"` // ticks per second and game session
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	P999    float64 `json:"p999_ms"`
	Over    int64   `json:"over"`     // ticks later than what is told apart
	HostCPU float64 `json:"host_cpu"` // cores
}

const (
	tickStep  = 0.5 // ms, as in tick.js
	tickSteps = 100
	// tickReport is how often a script reports, and up to which time after its start it begins.
	tickReport = 2 * time.Second
)

// ticks are counts of ticks by lateness, in steps; the last for all above.
type ticks [tickSteps + 1]int64

func (b *bench) tick(ctx context.Context) (err error) {
	proc, err := start(ctx, b.spec(fleetTick))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, proc.Stop()) }()
	ids, err := create(ctx, proc, fleetTick, b.TickSessions)
	if err != nil {
		return errors.Join(err, proc.Alive())
	}
	if err := rest(ctx, b.Warmup+tickReport); err != nil { // all have begun
		return err
	}
	skip, err := logs(ctx, proc, ids)
	if err != nil {
		return err
	}
	from, start := proc.Usage, time.Now()
	before, err := from()
	if err != nil {
		return err
	}
	if err := rest(ctx, b.Measure+2*tickReport); err != nil {
		return err
	}
	after, err := from()
	if err != nil {
		return err
	}
	took := time.Since(start)
	texts, err := logs(ctx, proc, ids)
	if err != nil {
		return err
	}
	var all ticks
	reports := 0
	for i, text := range texts {
		n, err := all.add(strings.TrimPrefix(text, skip[i]), 1)
		if err != nil {
			return fmt.Errorf("%s: %w", ids[i], err)
		}
		reports += n
	}
	r := tickResult{
		P50: all.quantile(0.5), P99: all.quantile(0.99), P999: all.quantile(0.999), Over: all[tickSteps], Ticks: all.total(),
		HostCPU: float64(after.CPU()-before.CPU()) / float64(took),
	}
	if reports > 0 {
		r.PerHz = float64(r.Ticks) / (float64(reports) * tickReport.Seconds())
	}
	fmt.Fprintf(os.Stderr, "tick: %+v\n", r)
	b.res.Tick = &r
	b.res.Bars.Add(fmt.Sprintf("p99 lateness in ms of a 20 Hz tick over %d game sessions", b.TickSessions), b.barTick, r.P99, r.Ticks > 0 && r.P99 < b.barTick)
	b.res.Bars.Add("ticks per second and game session, at least", 19, r.PerHz, r.PerHz >= 19)
	return nil
}

func logs(ctx context.Context, proc *server.Process, ids []string) (texts []string, err error) {
	for _, id := range ids {
		text, err := proc.GameSessionLog(ctx, id)
		if err != nil {
			return nil, errors.Join(err, proc.Alive())
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// add reads the reports in a log, but the first few, which reach back to before, and returns how many it took.
func (t *ticks) add(log string, skip int) (reports int, err error) {
	for line := range strings.Lines(log) {
		_, report, ok := strings.Cut(line, ": ticks ")
		if !ok {
			continue
		}
		if skip--; skip >= 0 {
			continue
		}
		_, list, _ := strings.Cut(report, " ")
		var counts []int64
		if err := json.Unmarshal([]byte(list), &counts); err != nil || len(counts) != len(t) {
			return reports, fmt.Errorf("a report that cannot be read: %q: %w", line, err)
		}
		for i, n := range counts {
			t[i] += n
		}
		reports++
	}
	return reports, nil
}

func (t *ticks) total() (n int64) {
	for _, c := range t {
		n += c
	}
	return n
}

// quantile is the upper end of the step that holds it, in ms; for the last step that of ticks without a bound is unknown,
// and its lower end is given.
func (t *ticks) quantile(q float64) float64 {
	want := q * float64(t.total())
	var n float64
	for i, c := range t {
		if n += float64(c); n >= want && n > 0 {
			return tickStep * float64(min(i+1, tickSteps))
		}
	}
	return 0
}
