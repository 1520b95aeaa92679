package main

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"troupe/bench/faults"
	"troupe/bench/result"
)

//go:embed plans/*.yaml
var plans embed.FS

// line is one line of the table: a play, a storm, or the tests of a row.
type line struct {
	what    string
	figures []string // as in columns; nil: none
	bad     string   // why it does not hold; empty: it does
}

// columns are the figures of a line.
var columns = []string{"SENT", "DELIVERED", "LOST", "TWICE", "RESUMES", "FAILED", "P50 ms", "P99 ms", "MAX ms", "CALLBACKS", "RESTARTS", "MiB", "GOROUTINES", "SEED"}

// matrix is one run.
type matrix struct {
	options
	dir string // for plans and reports
	log io.Writer

	mu    sync.Mutex
	lines map[any]*line // by the address of play, storm or tests in rows
}

// run tries the rows and prints the table. It returns false if a promise does not hold.
func run(ctx context.Context, o options, out, log io.Writer) (good bool, err error) {
	m := &matrix{options: o, log: log, lines: make(map[any]*line)}
	if m.troupe, err = filepath.Abs(o.troupe); err != nil {
		return false, err
	}
	if m.dir, err = os.MkdirTemp("", "troupe-matrix-"); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(m.dir)) }()
	if err := os.CopyFS(m.dir, plans); err != nil {
		return false, err
	}
	begun := time.Now()
	m.tryPlays(ctx)
	for i := range rows {
		for j := range rows[i].tests {
			if t := &rows[i].tests[j]; o.only.MatchString(rows[i].id) {
				m.done(ctx, t, m.test(ctx, t))
			}
		}
		for j := range rows[i].storms {
			if s := &rows[i].storms[j]; o.only.MatchString(rows[i].id) {
				m.done(ctx, s, m.storm(ctx, s))
			}
		}
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	good = m.print(out)
	fmt.Fprintf(out, "\n%v\n", time.Since(begun).Round(time.Second))
	return good, nil
}

// tryPlays runs all plays, some at a time.
func (m *matrix) tryPlays(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	slots := make(chan struct{}, m.atOnce)
	for i := range rows {
		for j := range rows[i].plays {
			if !m.only.MatchString(rows[i].id) {
				continue
			}
			slots <- struct{}{}
			work.Go(func() {
				defer func() { <-slots }()
				p := &rows[i].plays[j]
				m.done(ctx, p, m.play(ctx, p, fmt.Sprintf("%s-%d", rows[i].id, j)))
			})
		}
	}
}

// done keeps what was seen, and tells of it.
func (m *matrix) done(ctx context.Context, key any, l line) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines[key] = &l
	if ctx.Err() == nil {
		fmt.Fprintf(m.log, "%s: %s\n", l.what, l.verdict())
	}
}

func (l *line) verdict() string {
	if l.bad != "" {
		return "BROKEN"
	}
	return "holds"
}

// play runs troupe faults once.
func (m *matrix) play(ctx context.Context, p *play, name string) (l line) {
	players, scenario := p.players, p.scenario
	if players == 0 {
		players = 8
	}
	file := filepath.Join(m.dir, name+".json")
	if strings.HasSuffix(scenario, ".yaml") {
		scenario = filepath.Join(m.dir, scenario)
	}
	args := []string{"faults", "run", scenario, "--players", strconv.Itoa(players), "--seed", strconv.FormatUint(m.seed, 10), "--json", file}
	l.what = strings.TrimSuffix(filepath.Base(scenario), ".yaml")
	if p.transports != "" {
		args = append(args, "--transport", p.transports)
		l.what += " over " + p.transports
	}
	text, failed := exec.CommandContext(ctx, m.troupe, args...).CombinedOutput()
	r, err := faults.Read(file)
	if err != nil {
		l.bad = fmt.Sprintf("%v: %s", failed, lastLine(text))
		return l
	}
	l.figures = playFigures(&r)
	var why []string
	for _, v := range r.Verdicts {
		if v.Outcome == "BROKEN" {
			why = append(why, fmt.Sprintf("%s (%s): %s", v.Promise, v.Invariant, v.Detail))
		}
	}
	if p.figure != nil {
		if missed := p.figure(&r.Figures, players); missed != "" {
			why = append(why, missed)
		}
	}
	if len(why) == 0 && failed != nil {
		why = append(why, lastLine(text))
	}
	l.bad = strings.Join(why, "; ")
	return l
}

// because adds a known cause to what does not hold.
func because(bad, cause string) string {
	if bad == "" || cause == "" {
		return bad
	}
	return bad + ". Cause: " + cause
}

func playFigures(r *faults.Report) []string {
	f := &r.Figures
	ms := func(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
	return []string{
		fmt.Sprint(f.Sent), fmt.Sprint(f.Delivered), fmt.Sprint(f.Lost), fmt.Sprint(f.Duplicated), fmt.Sprint(f.Resumes), fmt.Sprint(f.ResumesFailed),
		ms(f.ReattachP50Ms), ms(f.ReattachP99Ms), ms(f.ReattachMaxMs), fmt.Sprint(f.WrongCallbacks), fmt.Sprint(f.Restarts), ms(f.HostMiB),
		fmt.Sprint(f.Goroutines), fmt.Sprint(r.Seed),
	}
}

// storm runs troupe bench reconnect-storm once.
func (m *matrix) storm(ctx context.Context, s *storm) (l line) {
	l.what = fmt.Sprintf("%d players cut at once, over %s", s.rooms*s.players, s.transport)
	file := filepath.Join(m.dir, "storm-"+s.transport+".json")
	text, failed := exec.CommandContext(ctx, m.troupe, "bench", "run", "reconnect-storm", "--only", s.transport,
		"--rooms", strconv.Itoa(s.rooms), "--players", strconv.Itoa(s.players), "--json", file).CombinedOutput()
	all, err := result.ReadFile(file)
	if err != nil || len(all[0].Subjects) == 0 || len(all[0].Subjects[0].Rounds) == 0 {
		l.bad = fmt.Sprintf("%v: %s", failed, lastLine(text))
		return l
	}
	f := all[0].Subjects[0].Rounds[0].Figures
	of := func(name string) string {
		v, known := f[name]
		if !known {
			return "-"
		}
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	l.figures = []string{of("sent"), "-", of("lost"), of("duplicated"), of("resumes"), of("failed"), of("back_p50_ms"), of("back_p99_ms"), of("back_max_ms"), "-", "-", of("resident_mib"), "-", "-"}
	l.bad = s.figure(f)
	if l.bad == "" && f["lost"]+f["duplicated"] > 0 {
		l.bad = fmt.Sprintf("%.0f messages were lost, %.0f came twice", f["lost"], f["duplicated"])
	}
	l.bad = because(l.bad, s.cause)
	return l
}

// test runs Go tests; each of them must pass.
func (m *matrix) test(ctx context.Context, t *tests) (l line) {
	l.what = fmt.Sprintf("%s %s", strings.TrimPrefix(t.pkg, "./"), strings.Join(t.run, ", "))
	args := []string{"test", "-json", "-count=1", "-timeout", "5m", "-tags", t.tags, "-run", "^(" + strings.Join(t.run, "|") + ")$", t.pkg}
	if len(t.args) > 0 {
		args = append(append(args, "-args"), t.args...)
	}
	out, failed := exec.CommandContext(ctx, "go", args...).Output()
	passed, said := readEvents(out)
	for _, name := range t.run {
		if !passed[name] {
			l.bad += fmt.Sprintf("%s did not pass; ", name)
		}
	}
	if l.bad == "" && failed != nil {
		l.bad = failed.Error() + "; "
	}
	if l.bad != "" {
		l.bad += strings.Join(said, " ")
	}
	return l
}

// saidMax bounds what is kept of a test's words.
const saidMax = 5

// readEvents reads what go test -json says: the tests that passed, and the first words of those that failed.
func readEvents(out []byte) (passed map[string]bool, said []string) {
	passed = make(map[string]bool)
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		text := strings.TrimSpace(e.Output)
		switch {
		case e.Action == "pass":
			passed[e.Test] = true
		case e.Action == "output" && strings.Contains(text, "_test.go:") && len(said) < saidMax:
			said = append(said, text)
		}
	}
	return passed, said
}

func lastLine(text []byte) string {
	all := strings.Split(strings.TrimSpace(string(text)), "\n")
	return all[len(all)-1]
}

// print writes the table, and below it what does not hold and what was not tried.
func (m *matrix) print(w io.Writer) (good bool) {
	good = true
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "FAULT\tVERDICT\tBY\t%s\n", strings.Join(columns, "\t"))
	var below []string
	for i := range rows {
		r := &rows[i]
		if !m.only.MatchString(r.id) {
			continue
		}
		all := m.of(r)
		if len(all) == 0 {
			fmt.Fprintf(t, "%s\tnot tried\t%s\n", r.id, r.fault)
		}
		for n, l := range all {
			if n == 0 {
				fmt.Fprintf(t, "%s\t\t%s\n", r.id, r.fault)
			}
			fmt.Fprintf(t, "\t%s\t%s\t%s\n", l.verdict(), l.what, strings.Join(l.figures, "\t"))
			if l.bad != "" {
				good = false
				below = append(below, fmt.Sprintf("%s BROKEN, %s: %s", r.id, l.what, l.bad))
			}
		}
		if r.untried != "" {
			below = append(below, fmt.Sprintf("%s not tried: %s", r.id, r.untried))
		}
	}
	_ = t.Flush() // w has the error too, if it keeps it
	fmt.Fprintln(w)
	for _, text := range below {
		fmt.Fprintln(w, text)
	}
	return good
}

// of returns the lines of a row: plays, storms, and one for all tests that pass.
func (m *matrix) of(r *row) (all []*line) {
	for i := range r.plays {
		all = append(all, m.lines[&r.plays[i]])
	}
	for i := range r.storms {
		all = append(all, m.lines[&r.storms[i]])
	}
	passed := 0
	for i := range r.tests {
		if l := m.lines[&r.tests[i]]; l.bad != "" {
			all = append(all, l)
			continue
		}
		passed += len(r.tests[i].run)
	}
	if passed > 0 {
		all = append(all, &line{what: fmt.Sprintf("%d tests", passed)})
	}
	return all
}
