package suite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/bench/result"
	"troupe/bench/server"
)

const (
	tickStep  = 0.5 // ms, as in tick.js
	tickSteps = 100
	// tickThings is how many things a tick moves.
	tickThings = 4
)

// tickReport is how often a script reports, and up to which time after its start it begins.
func (r *run) tickReport() time.Duration {
	return min(max(r.p.Measure/5, 100*time.Millisecond), 2*time.Second)
}

// ticks makes game sessions that tick, and reads in their logs how late they say that they were.
func (r *run) ticks(ctx context.Context, spec server.Spec) (round result.Round, err error) {
	err = r.with(ctx, spec, func(proc *server.Process) error {
		ids, err := r.sessions(ctx, proc, spec.FleetID)
		if err != nil {
			return errors.Join(err, proc.Alive())
		}
		if err := rest(ctx, r.p.Warmup+r.tickReport()); err != nil { // all have begun
			return err
		}
		skip, err := logs(ctx, proc, ids)
		if err != nil {
			return err
		}
		m := r.meter(proc, nil)
		if err := m.read(&m.start); err != nil {
			return err
		}
		if err := rest(ctx, r.p.Measure+2*r.tickReport()); err != nil {
			return err
		}
		if err := m.read(&m.end); err != nil {
			return err
		}
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
		if all.total() == 0 {
			return errors.New("the scripts have told of no ticks")
		}
		round.Figures = m.figures()
		f := round.Figures
		f.Set("tick_p50_ms", all.quantile(0.5))
		f.Set("tick_p99_ms", all.quantile(0.99))
		f.Set("tick_p999_ms", all.quantile(0.999))
		f.Set("ticks_per_s", float64(all.total())/(float64(reports)*r.tickReport().Seconds()))
		if above := all[tickSteps]; above > 0 {
			r.warn("%d ticks were more than %g ms late", above, tickStep*tickSteps)
		}
		return nil
	})
	return round, err
}

// ticks are counts of ticks by lateness, in steps; the last for all above.
type ticks [tickSteps + 1]int64

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
